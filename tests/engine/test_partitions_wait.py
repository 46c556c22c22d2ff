"""A partition of the target that takes nothing: for a moment its lane waits, then the others go on without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine import lane as lane_module
from heliograph.engine.lane import Lane
from heliograph.engine.settings import LaneSettings
from heliograph.errors import BrokerRefused, ClusterError, PartitionFailed, PartitionsWait
from heliograph.kafka.access import Access
from heliograph.kafka.endings import LASTING_SECONDS
from heliograph.kafka.producing import Batch
from heliograph.model import Assignment, EventKind, LanePlan, LedgerEntry, PartitionProgress, TopicPartition
from tests.engine.lane_bench import OFFSETS_PARTITIONS, QUICK, TOPICS
from tests.engine.ward import Ward
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.stations import Stations
from tests.zoo.topics import await_leaders, create_topic, fresh_name

NOT_ENOUGH_REPLICAS = 19
REFUSED = "the target refuses it: INVALID_RECORD"
ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Sessions:
    """Attempts of a lane that end as they are told to, until a partition is set aside."""

    def __init__(self, *failures: ClusterError) -> None:
        self.failures = [*failures]
        self.begun = 0
        self.aside: dict[TopicPartition, str] = {}

    def __call__(self, *arguments: Any) -> Sessions:
        self.aside = arguments[5]
        self.begun += 1
        return self

    def start(self) -> None:
        if self.failures and not self.aside:
            raise self.failures.pop(0) if len(self.failures) > 1 else self.failures[0]

    def copy(self) -> Iterator[Any]:
        return iter(())

    def close(self) -> None:
        pass


def lack(*sources: TopicPartition) -> PartitionsWait:
    return PartitionsWait("backup t-1", 19, "NOT_ENOUGH_REPLICAS", frozenset(sources))


def run(
    monkeypatch: pytest.MonkeyPatch,
    sessions: Sessions,
    clock: Clock,
    attempts: int = 100,
    assignments: Sequence[Assignment] = (),
    told: Mapping[TopicPartition, str] | None = None,
) -> None:
    monkeypatch.setattr(lane_module, "LaneSession", sessions)
    monkeypatch.setattr(lane_module, "time", clock)
    plan = LanePlan("a->b", 0, "owner", 1, (), TOPICS, assignments, set_aside=told or {})
    access = Access("any", ["localhost:1"])
    lane = Lane(plan, access, access, LaneSettings(), lambda: sessions.begun >= attempts)
    for _ in lane.run():
        pass


def test_partitions_that_take_nothing_for_long_are_set_aside_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sessions = Clock(), Sessions(lack(ONE, TWO))
    run(monkeypatch, sessions, clock)
    assert sessions.aside == dict.fromkeys((ONE, TWO), "the target takes nothing for now: NOT_ENOUGH_REPLICAS")
    assert 5.0 <= clock.now - 1000.0 < 7.0


def test_a_partition_that_was_set_aside_for_that_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sessions = Clock(), Sessions(lack(ONE))
    run(monkeypatch, sessions, clock, told={ONE: "the target takes nothing for now"})
    assert sessions.aside
    assert clock.now == 1000.0


def test_what_was_set_aside_is_tried_ever_more_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, began = Clock(), list[float]()

    class Poisoned(Sessions):
        def start(self) -> None:
            if not self.aside:
                began.append(clock.now)
                raise PartitionFailed(ONE, "poison")

        def copy(self) -> Iterator[Any]:
            while not sessions.should_end():
                clock.sleep(1.0)
            return iter(())

        def __call__(self, *arguments: Any) -> Sessions:
            self.should_end = arguments[4]
            return super().__call__(*arguments)

    sessions = Poisoned()
    run(monkeypatch, sessions, clock, attempts=14)
    assert [round(at - 1000) for at in began] == [0, 60, 180, 420, 900, 1500, 2100]


def test_a_topic_that_is_refused_is_set_aside_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    copy, other = TopicPartition("a.t", 1), TopicPartition("other", 0)
    assignments = [Assignment(ONE, copy), Assignment(TWO, TopicPartition("a.t", 2)), Assignment(other, other)]
    failure = PartitionFailed(ONE, "the target refuses it", copy, concerns_topic=True)
    failure.others = [PartitionFailed(TopicPartition("t", 3), "so is this", TopicPartition("a.t", 3))]
    sessions = Sessions(failure)
    run(monkeypatch, sessions, Clock(), attempts=2, assignments=assignments)
    assert sessions.aside == {
        ONE: "the target refuses it",
        TopicPartition("t", 3): "so is this",
        TWO: "the target refuses its topic, as for t-1",
    }


def test_what_is_known_of_links_outlives_an_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[object] = []

    class Slow(Sessions):
        def __call__(self, *arguments: Any) -> Sessions:
            links.append(arguments[9])
            return super().__call__(*arguments)

    run(monkeypatch, Slow(lack(ONE)), Clock(), attempts=3)
    assert len(links) == 3
    assert len(set(map(id, links))) == 1


def test_many_that_were_refused_do_not_end_one_attempt_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, failed_at = Clock(), list[float]()
    many = [TopicPartition("t", number) for number in range(100)]

    class Refused(Sessions):
        def start(self) -> None:
            if tried := [where for where in many if where not in self.aside]:
                failed_at.append(clock.now)
                raise PartitionFailed(tried[0], REFUSED)

        def copy(self) -> Iterator[Any]:
            while not sessions.should_end():
                clock.sleep(1.0)
            return iter(())

        def __call__(self, *arguments: Any) -> Sessions:
            self.should_end = arguments[4]
            return super().__call__(*arguments)

    sessions = Refused()
    run(monkeypatch, sessions, clock, attempts=50, told=dict.fromkeys(many, REFUSED))
    assert min(after - before for before, after in pairwise(failed_at)) >= 2.0


def test_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(lack(ONE))
    run(monkeypatch, sessions, Clock(), attempts=5)
    assert not sessions.aside


def test_what_was_long_ago_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sessions = Clock(), Sessions(lack(ONE))
    monkeypatch.setattr(clock, "sleep", lambda _: setattr(clock, "now", clock.now + 60.0))
    run(monkeypatch, sessions, clock, attempts=9)
    assert not sessions.aside


def test_an_attempt_that_begins_late_since_an_id_is_busy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sessions = Clock(), Sessions(lack(ONE))
    monkeypatch.setattr(clock, "sleep", lambda _: setattr(clock, "now", clock.now + LASTING_SECONDS))
    run(monkeypatch, sessions, clock, attempts=3)
    assert sessions.aside.keys() == {ONE}


def test_what_was_taken_meanwhile_ends_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    class Flapping(Sessions):
        def start(self) -> None:
            if self.begun % 2:
                raise lack(ONE)

        def copy(self) -> Iterator[LedgerEntry]:
            clock.sleep(4.0)
            yield LedgerEntry("a->b", 0, "owner", 1, 0, [PartitionProgress(ONE, ONE, (), 1, 0, 0)])

    sessions = Flapping()
    run(monkeypatch, sessions, clock, attempts=12)
    assert not sessions.aside


def test_refusals_that_concern_no_partition_set_none_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions(BrokerRefused("backup mm2-offsets-1", 19, "NOT_ENOUGH_REPLICAS"))
    run(monkeypatch, sessions, Clock(), attempts=50)
    assert not sessions.aside


# -- on brokers --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thinned() -> Iterator[EmbeddedCluster]:
    """Two brokers, of which the second will be stopped; the books are on the first."""
    with running_clusters(ClusterSpec("thinned", brokers=2, separate_controller=True)) as [cluster]:
        for name in TOPICS:
            create_on(
                cluster, name, {number: [1] for number in range(OFFSETS_PARTITIONS if name == TOPICS.offsets else 1)}
            )
        yield cluster


def create_on(cluster: EmbeddedCluster, name: str, homes: dict[int, list[int]], **settings: str) -> str:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(name, replica_assignments=homes, topic_configs=settings)])
    await_leaders(cluster.bootstrap_servers, name, len(homes))
    return name


def answer_of(address: str, topic: str) -> int:
    """What the only partition of a topic answers to who writes to it."""
    with raw.network(address, topic) as (loop, network):
        return raw.send(loop, network, [Batch(topic, 0, raw.batch_of(numbered(1)))])[0].error_code


@pytest.mark.kafka
def test_without_transactions_a_partition_that_lacks_replicas_holds_the_others_up_for_seconds_only(
    primary: EmbeddedCluster, thinned: EmbeddedCluster
) -> None:
    """A transaction that it has joined could not end before it has replicas again, not even aborted."""
    name = create_topic(primary.bootstrap_servers, fresh_name("thin"), 2)
    bad = create_on(thinned, f"bad.{name}", {0: [1, 2]}, **{"min.insync.replicas": "2"})
    well = create_on(thinned, f"well.{name}", {0: [1]})
    pairs = {TopicPartition(name, 0): TopicPartition(bad, 0), TopicPartition(name, 1): TopicPartition(well, 0)}
    remaining = thinned.brokers[0].spec.listeners[0].address
    ward = Ward(Stations(primary.bootstrap_servers, remaining), pairs, f"lane-of-{name}")
    thinned.brokers[1].stop()
    wait_until(lambda: answer_of(remaining, bad) == NOT_ENOUGH_REPLICAS, "the partition to lack a replica")
    for source in pairs:
        ward.feed(source, range(10))
    with ward.lane_walk(replace(QUICK, is_exactly_once=False)) as walk:
        [aside] = walk.until_told(1)
        walk.until_copied({ward.well: 10})
    assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
    assert aside.reason.startswith("the target takes nothing for now: NOT_ENOUGH_REPLICAS")
