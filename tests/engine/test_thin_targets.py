"""Exactly once, and partitions of the target lack replicas: the others go on, and they go on when they have them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine import closing, trials
from heliograph.engine import lane as lane_module
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.task import LaneTask
from heliograph.kafka.endings import describe_ids
from heliograph.model import Event, EventKind, LedgerEntry, TopicPartition
from heliograph.sync.topics import flow_topics
from tests.chaos.forms import LONG
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import OFFSETS_PARTITIONS, TOPICS
from tests.engine.ward import Ward
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.thinned import Thinned, thinned_cluster
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka
SOON = 15.0  # seconds, in which those that are well must go on
LACKS = "its target cannot be used: has 1 of the 2 replicas in sync that min.insync.replicas asks for"


@pytest.fixture(scope="module")
def thinned() -> Iterator[Thinned]:
    """The books are on the first broker."""
    with thinned_cluster("thin") as made:
        for name in TOPICS:
            made.create(name, [[1]] * (OFFSETS_PARTITIONS if name == TOPICS.offsets else 1))
        yield made


@pytest.fixture(autouse=True)
def is_tried_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_FIRST_REST", 2.0)
    monkeypatch.setattr(trials, "_LONGEST_REST", 2.0)


@pytest.fixture
def ward(primary: EmbeddedCluster, thinned: Thinned) -> Iterator[Ward]:
    """Of the partition in trouble and of the other one ten records are there to be mirrored."""
    name = create_topic(primary.bootstrap_servers, fresh_name("thin"), 2)
    sources = (TopicPartition(name, number) for number in range(2))
    pairs = dict(zip(sources, thinned.create_pair(name), strict=True))
    with CommittedReader(thinned.remaining) as copies:
        ward = Ward(Stations(primary.bootstrap_servers, thinned.remaining), pairs, f"lane-of-{name}", copies)
        feed(ward, range(10))
        yield ward


def feed(ward: Ward, numbers: range) -> None:
    for source in ward.pairs:
        ward.feed(source, numbers)


def in_time(do: Callable[[], object]) -> None:
    began = time.monotonic()
    do()
    assert time.monotonic() - began < SOON


def assert_equal(ward: Ward, count: int) -> None:
    """Every record is there, once and in order."""
    wanted = list(range(count))
    assert [ward.copied(source) for source in ward.pairs] == [wanted, wanted]


def told_of(ward: Ward, events: list[Event]) -> list[str]:
    assert {event.source for event in events} <= {ward.bad}
    return [event.reason for event in events if event.kind is EventKind.SET_ASIDE]


def test_a_partition_that_lacks_replicas_is_not_even_tried(ward: Ward, thinned: Thinned) -> None:
    with ward.lane_walk() as walk:
        with thinned.without_second(ward.pairs[ward.bad].topic):
            in_time(lambda: walk.until_copied({ward.well: 10}))
            assert told_of(ward, walk.events) == [LACKS]
            with raw.network(thinned.remaining) as (_, network):
                states = describe_ids(network, ward.plan().transactional_ids)
            assert ward.pairs[ward.bad] not in {where for state in states.values() for where in state.partitions}
        walk.until_copied({ward.bad: 10})
    assert walk.events[-1].kind is EventKind.RESUMED
    assert_equal(ward, 10)


@pytest.mark.parametrize("may_ask", [pytest.param(True, marks=LONG), False])
def test_the_others_go_on_soon_after_a_partition_has_lost_replicas(
    ward: Ward, thinned: Thinned, may_ask: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not we may ask how many it needs."""
    if not may_ask:
        monkeypatch.setattr("heliograph.engine.lane_books.too_thin", lambda *_: {})
    with ward.lane_walk() as walk:
        walk.until_copied(dict.fromkeys(ward.pairs, 10))
        with thinned.without_second(ward.pairs[ward.bad].topic):
            feed(ward, range(10, 20))
            in_time(lambda: walk.until_copied({ward.well: 20}))
            in_time(lambda: walk.until_told(1))
            reason = told_of(ward, walk.events)[0]
            assert (LACKS if may_ask else "a transaction of ours has ended") in reason
            for size in (30, 40):  # it was tried again meanwhile
                feed(ward, range(size - 10, size))
                in_time(lambda size=size: walk.until_copied({ward.well: size}))
        walk.until_copied(dict.fromkeys(ward.pairs, 40))
    assert_equal(ward, 40)


def lose_second_before_the_commit(thinned: Thinned, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the next transaction: all is written, and the partition in trouble cannot be told that it is committed."""

    def reached(point: str) -> None:
        if point == "bookkeeping-written":
            monkeypatch.setattr(closing, "reached", lambda _: None)
            thinned.lose_second()

    monkeypatch.setattr(closing, "reached", reached)


def test_the_others_go_on_while_a_commit_cannot_be_told(
    ward: Ward, thinned: Thinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_second_before_the_commit(thinned, monkeypatch)
    with ward.lane_walk() as walk:
        try:
            walk.until_copied(dict.fromkeys(ward.pairs, 10))
            for size in (20, 30, 40, 50):  # the busy id would be used again
                feed(ward, range(size - 10, size))
                in_time(lambda size=size: walk.until_copied({ward.well: size}))
            assert ward.copied(ward.bad) == []
        finally:
            thinned.bring_second(ward.pairs[ward.bad].topic)
        walk.until_copied(dict.fromkeys(ward.pairs, 50))
    assert_equal(ward, 50)


def test_a_frozen_lane_does_not_go_on_under_an_id_that_was_left_alone(
    ward: Ward, thinned: Thinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another attempt of the same lane could not lock it out of that id, which is free when it wakes up."""
    lose_second_before_the_commit(thinned, monkeypatch)
    with ward.lane_walk() as frozen:
        try:
            frozen.until_copied(dict.fromkeys(ward.pairs, 10))
            for size in (20, 30):  # then it is the turn of the first id again, which is busy
                ward.feed(ward.well, range(size - 10, size))
                frozen.until_copied({ward.well: size})
            ward.feed(ward.well, range(30, 40))
            with ward.lane_walk() as other:
                in_time(lambda: other.until_copied({ward.well: 40}))
        finally:
            thinned.bring_second(ward.pairs[ward.bad].topic)
        with raw.network(thinned.remaining) as (_, network):
            [first, *_] = ward.plan().transactional_ids
            wait_until(lambda: not describe_ids(network, [first])[first].is_decided, "the id to be free")
        ward.feed(ward.well, range(40, 50))
        frozen.until_copied({ward.well: 50})
    assert ward.copied(ward.well) == list(range(50))


# -- another mirror ----------------------------------------------------------------------------------------------------

TEXT = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=1\n"


@pytest.fixture
def scene(primary: EmbeddedCluster, thinned: Thinned, tmp_path: Path) -> Scene:
    """A flow with its books on the first broker, and a topic of which one partition needs both brokers."""
    made = make_scene(tmp_path, primary, thinned.cluster, TEXT)
    for name in flow_topics(made.flow):
        thinned.create(name, [[1]] * (5 if "offsets" in name else 1))
    thinned.create(f"{made.alias}.{made.alias}-bad", [[1, 2]], {"min.insync.replicas": "2"})
    thinned.create(f"{made.alias}.{made.alias}-well", [[1]])
    made.source_topic("bad", 20)
    made.source_topic("well", 20)
    return made


def run(task: bytes, count: int) -> tuple[dict[TopicPartition, int], list[LedgerEntry]]:
    """Let a lane do its work until it has copied so many records; what it copied of each partition."""
    copied: dict[TopicPartition, int] = {}
    entries: list[LedgerEntry] = []
    plan = LaneTask.unpacked(task)
    deadline = time.monotonic() + SOON

    def should_end() -> bool:
        assert time.monotonic() < deadline, f"only got to {copied}"
        return sum(copied.values()) >= count

    for entry in Lane(plan.plan, plan.source, plan.target, plan.settings, should_end).run():
        entries.append(entry)
        for progress in entry.partitions:
            copied[progress.source] = copied.get(progress.source, 0) + progress.record_count
    return copied, entries


def test_another_mirror_takes_the_flow_over_meanwhile(
    scene: Scene, thinned: Thinned, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, well = (TopicPartition(f"{scene.alias}-{name}", 0) for name in ("bad", "well"))
    driver = FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))
    driver.take_over()
    lose_second_before_the_commit(thinned, monkeypatch)
    try:
        assert run(driver.lane_tasks(1)[0], 40)[0] == {bad: 20, well: 20}
        for where in (bad, well):
            scene.send(where.topic, 0, 5)
        successor = FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))
        in_time(successor.take_over)
        [task] = successor.lane_tasks(1)
        copied, entries = run(task, 5)
        assert copied == {well: 5}
        for entry in entries:
            successor.lane_progressed(entry)
        assert successor.totals.set_aside == {bad: LACKS}
        in_time(lambda: successor.lane_tasks(2))
    finally:
        thinned.bring_second(f"{scene.alias}.{bad.topic}")
    copied, _ = run(successor.lane_tasks(3)[0], 5)
    assert copied == {bad: 5}
    with CommittedReader(thinned.remaining) as copies:
        targets = (TopicPartition(f"{scene.alias}.{where.topic}", 0) for where in (bad, well))
        assert [sum(1 for _ in copies.read_again(target)) for target in targets] == [25, 25]
