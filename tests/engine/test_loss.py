"""What the source lost before it was mirrored is told with its exact range; nothing is ever passed over in silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.settings import LaneSettings
from heliograph.errors import ClusterError
from heliograph.kafka import reading
from heliograph.model import Event, EventKind, Position, TopicPartition
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import QUICK
from tests.engine.ward import GOES_ON, LaneWalk, Ward, create_topics
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

NEVER_ENDS = -1


@dataclass(frozen=True)
class Case:
    """Something that happens to a partition of which offsets 0 to 9 are mirrored, and what a lane should say of it."""

    cause: Callable[[Ward], None]
    kind: EventKind
    lost: tuple[int, int]
    resume_at: int
    reason: str
    rest: range  # the numbers of the records from there on

    def event(self, ward: Ward) -> Event:
        """What is told in any case."""
        return Event(self.kind, ward.bad, *self.lost, self.reason)

    def advice(self) -> str:
        """Why the partition is set aside."""
        return f"{self.reason}; on.data.loss = continue goes on at offset {self.resume_at}"

    @property
    def end(self) -> int:
        """Where the source partition ends."""
        return self.resume_at + len(self.rest)


def retention_overtakes(ward: Ward) -> None:
    ward.feed(ward.bad, range(10, 20))
    ward.delete_records(before=15)


def position_lies_behind_the_end(ward: Ward) -> None:
    ward.place(Position(99, 9, str(ward.topic_id())))


def epoch_of_the_position_ends_before_it(ward: Ward) -> None:
    ward.place(Position(99, 9, str(ward.topic_id()), leader_epoch=0))


def source_forgets_the_epoch(ward: Ward) -> None:
    ward.place(Position(9, 9, str(ward.topic_id()), leader_epoch=50))


def shorter_topic_takes_its_place(ward: Ward) -> None:
    ward.delete_topic()
    ward.create_again(range(100, 103))


def longer_topic_takes_its_place(ward: Ward) -> None:
    ward.delete_topic()
    ward.create_again(range(100, 130))


RECREATED = "the topic was deleted and created again; what the old one had from offset 10 on is lost"
REWRITTEN = (
    "the source's log was written anew somewhere before offset {}; what had been mirrored is not its own any more"
)
SHORTER = Case(
    shorter_topic_takes_its_place, EventKind.RECREATED, (10, NEVER_ENDS), 0, RECREATED, range(100, 103)
)  # fmt: skip
LONGER = Case(
    longer_topic_takes_its_place, EventKind.RECREATED, (10, NEVER_ENDS), 0, RECREATED, range(100, 130)
)  # fmt: skip
RETENTION = Case(
    retention_overtakes, EventKind.RETENTION, (10, 15), 15,
    "offsets 10 to 14 were deleted on the source before they were mirrored", range(15, 20),
)  # fmt: skip
TRUNCATION = Case(
    position_lies_behind_the_end, EventKind.TRUNCATION, (10, 100), 10,
    "the source's log was cut back to offset 10; offsets 10 to 99 had been mirrored", range(0),
)  # fmt: skip
DIVERGED = replace(TRUNCATION, cause=epoch_of_the_position_ends_before_it)
RESTORED = Case(
    source_forgets_the_epoch, EventKind.TRUNCATION, (10, 10), 10, REWRITTEN.format(10), range(0)
)  # fmt: skip
WHILE_STOPPED = {
    "retention": RETENTION,
    "truncation": TRUNCATION,
    "diverged": DIVERGED,
    "restored": RESTORED,
    "shorter": SHORTER,
    "longer": LONGER,
}
WHILE_RUNNING = {"shorter": SHORTER, "longer": LONGER}
STOPS_AT_LEAST_ONCE, GOES_ON_AT_LEAST_ONCE = (replace(item, is_exactly_once=False) for item in (QUICK, GOES_ON))
stopping = pytest.mark.parametrize("settings", [QUICK, STOPS_AT_LEAST_ONCE], ids=["exactly-once", "at-least-once"])
going_on = pytest.mark.parametrize("settings", [GOES_ON, GOES_ON_AT_LEAST_ONCE], ids=["exactly-once", "at-least-once"])
stopped = pytest.mark.parametrize("case", WHILE_STOPPED.values(), ids=WHILE_STOPPED)
running = pytest.mark.parametrize("case", WHILE_RUNNING.values(), ids=WHILE_RUNNING)


def assert_set_aside(ward: Ward, case: Case, before: Position) -> None:
    """The loss and the stop are in the ledger, and nothing has moved."""
    assert ward.events() == [
        case.event(ward),
        Event(
            EventKind.SET_ASIDE, ward.bad, case.lost[0] if before.offset == 9 else before.offset + 1, -1, case.advice()
        ),
    ]
    assert ward.positions()[ward.bad] == before
    assert ward.copied(ward.bad) == list(range(10))


def assert_gone_on(ward: Ward, case: Case) -> None:
    """The loss is in the ledger, once, and all that is left on the source has arrived."""
    assert ward.events() == [case.event(ward)]
    position = ward.positions()[ward.bad]
    assert (position.offset, position.topic_id) == (case.end - 1, str(ward.topic_id()))
    assert ward.copied(ward.bad) == [*range(10), *case.rest]


def assert_goes_on_without_another_word(ward: Ward, case: Case, settings: LaneSettings) -> None:
    """A later lane begins where the one before stopped."""
    ward.feed(ward.bad, range(500, 503))
    with ward.lane_walk(replace(settings, goes_on_after_loss=False)) as walk:
        walk.until_copied({ward.bad: case.end + 3})
    assert ward.events() == [case.event(ward)]
    assert ward.copied(ward.bad) == [*range(10), *case.rest, 500, 501, 502]


@stopping
@stopped
def test_loss_while_no_lane_ran_sets_the_partition_aside_and_the_other_flows(
    ward: Ward, case: Case, settings: LaneSettings
) -> None:
    case.cause(ward)
    before = ward.positions()[ward.bad]
    with ward.lane_walk(settings) as walk:
        walk.until_told(2)
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    assert_set_aside(ward, case, before)
    assert ward.copied(ward.well) == list(range(15))


@stopping
@stopped
def test_loss_that_is_known_is_not_told_again(ward: Ward, case: Case, settings: LaneSettings) -> None:
    case.cause(ward)
    ward.feed(ward.well, range(10, 15))
    with ward.lane_walk(settings, ward.plan(set_aside={ward.bad: case.advice()})) as walk:
        walk.until_copied({ward.well: 15})
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert ward.events() == []
    assert ward.copied(ward.bad) == list(range(10))


@going_on
@stopped
def test_loss_while_no_lane_ran_is_told_once_where_lanes_go_on(ward: Ward, case: Case, settings: LaneSettings) -> None:
    case.cause(ward)
    with ward.lane_walk(settings) as walk:
        walk.until_copied({ward.bad: case.end})
    assert_gone_on(ward, case)
    assert_goes_on_without_another_word(ward, case, settings)


@stopping
@running
def test_loss_under_a_running_lane_sets_the_partition_aside_and_the_other_flows(
    ward: Ward, case: Case, settings: LaneSettings
) -> None:
    before = ward.positions()[ward.bad]
    with ward.lane_walk(settings) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        case.cause(ward)
        walk.until_told(2)
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert_set_aside(ward, case, before)
    assert ward.copied(ward.well) == list(range(20))


@going_on
@running
def test_loss_under_a_running_lane_is_told_once_where_lanes_go_on(
    ward: Ward, case: Case, settings: LaneSettings
) -> None:
    with ward.lane_walk(settings) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        case.cause(ward)
        walk.until_copied({ward.bad: case.end})
    assert_gone_on(ward, case)
    assert_goes_on_without_another_word(ward, case, settings)


# -- retention under a running lane: an answer on its way may still bring what is deleted ------------------------------


def delete_under(ward: Ward) -> None:
    """Of three batches the answer to a fetch on its way holds one at most, so the second at least is lost."""
    for first in (10, 20, 30):
        ward.feed(ward.bad, range(first, first + 10))
    ward.delete_records(before=35)


@stopping
def test_retention_that_overtakes_a_running_lane_sets_the_partition_aside(ward: Ward, settings: LaneSettings) -> None:
    with ward.lane_walk(settings) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        delete_under(ward)
        loss, aside = walk.until_told(2)
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert (loss.kind, aside.kind) == (EventKind.RETENTION, EventKind.SET_ASIDE)
    assert loss.from_offset in (10, 20)
    assert loss.to_offset == 35
    assert ward.copied(ward.bad) == list(range(loss.from_offset))
    assert ward.positions()[ward.bad].offset == loss.from_offset - 1
    assert ward.events() == [loss, aside]


@going_on
def test_after_retention_has_overtaken_it_a_running_lane_goes_on_at_the_first_record_left(
    ward: Ward, settings: LaneSettings
) -> None:
    with ward.lane_walk(settings) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        delete_under(ward)
        walk.until_copied({ward.bad: 40})
    [loss] = ward.events()
    assert (loss.kind, loss.to_offset) == (EventKind.RETENTION, 35)
    assert ward.copied(ward.bad) == [*range(loss.from_offset), *range(35, 40)]
    assert ward.positions()[ward.bad].offset == 39


@stopping
def test_deleting_what_was_mirrored_is_no_loss(ward: Ward, settings: LaneSettings) -> None:
    ward.delete_records(before=10)
    ward.feed(ward.bad, range(10, 12))
    with ward.lane_walk(settings) as walk:
        walk.until_copied({ward.bad: 12})
    assert ward.events() == []
    assert ward.copied(ward.bad) == list(range(12))


# -- topics that are gone ---------------------------------------------------------------------------------------------


@stopping
def test_a_topic_that_goes_away_under_a_running_lane_is_set_aside(ward: Ward, settings: LaneSettings) -> None:
    with ward.lane_walk(settings) as walk:
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
        ward.delete_topic()
        walk.until_told(1)
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert ward.events() == [Event(EventKind.SET_ASIDE, ward.bad, 10, -1, "the topic is gone on the source")]


def test_a_topic_that_went_away_while_no_lane_ran_is_set_aside_and_told_once(ward: Ward) -> None:
    ward.delete_topic()
    with ward.lane_walk() as walk:
        [aside] = walk.until_told(1)
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    with ward.lane_walk(plan=ward.plan(set_aside={ward.bad: aside.reason})) as walk:
        ward.feed(ward.well, range(15, 20))
        walk.until_copied({ward.well: 20})
    assert ward.events() == [Event(EventKind.SET_ASIDE, ward.bad, 10, -1, "the topic is gone on the source")]


def test_a_topic_that_was_gone_flows_again_from_its_beginning_where_lanes_go_on(ward: Ward) -> None:
    ward.delete_topic()
    with ward.lane_walk(GOES_ON) as walk:
        [gone] = walk.until_told(1)
    ward.create_again(range(100, 105))
    with ward.lane_walk(GOES_ON, ward.plan(set_aside={ward.bad: gone.reason})) as walk:
        walk.until_copied({ward.bad: 5})
    assert [event.kind for event in ward.events()] == [EventKind.SET_ASIDE, EventKind.RECREATED, EventKind.RESUMED]
    assert ward.copied(ward.bad) == [*range(10), *range(100, 105)]
    assert_no_more_events(ward, 3)


def assert_no_more_events(ward: Ward, known: int) -> None:
    ward.feed(ward.bad, range(105, 107))
    with ward.lane_walk() as walk:
        walk.until_copied({ward.bad: 7})
    assert len(ward.events()) == known


# -- unclean election --------------------------------------------------------------------------------------------------


def create_replicated(cluster: EmbeddedCluster, name: str) -> TopicPartition:
    """A partition that the first broker leads and the second follows; either may lead after any loss."""
    settings = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1", "retention.ms": "-1"}
    topic = NewTopic(name, replica_assignments={0: [1, 2]}, topic_configs=settings)
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.create_topics([topic])
    await_leader(cluster, name)
    return TopicPartition(name, 0)


def await_leader(cluster: EmbeddedCluster, topic: str) -> None:
    """Wait until somebody leads the topic's partition, and answers for it."""

    def is_led() -> bool:
        try:
            with raw.network(cluster.bootstrap_servers, topic) as (_, network):
                return bool(reading.list_offsets(network, topic, {0: reading.LATEST}))
        except ClusterError:
            return False

    wait_until(is_led, f"a leader of {topic}", seconds=60)


@contextmanager
def replicated_cluster() -> Iterator[EmbeddedCluster]:
    """Two brokers, of which either may die."""
    settings = {"broker.session.timeout.ms": "2000"}  # so that the death of the leader is soon noticed
    with running_clusters(ClusterSpec("primary", 2, settings=settings, separate_controller=True)) as [cluster]:
        yield cluster


def replicated_ward(cluster: EmbeddedCluster, target: str, copies: CommittedReader) -> Ward:
    """A ward of replicated partitions; its lanes have no copy of anything yet."""
    names = (fresh_name("replicated"), fresh_name("replicated"))
    create_topics(target, names)
    pairs = {create_replicated(cluster, name): TopicPartition(name, 0) for name in names}
    return Ward(Stations(cluster.bootstrap_servers, target), pairs, f"lane-of-{names[0]}", copies)


def lag_behind(cluster: EmbeddedCluster, wards: Sequence[Ward]) -> None:
    """The second broker goes away, and ten of twenty records are on the first one only."""
    for ward in wards:
        ward.feed(ward.bad, range(10))
        ward.feed(ward.well, range(10))
    cluster.brokers[1].stop()
    await_leaders_of(cluster, wards)
    for ward in wards:
        ward.feed(ward.bad, range(10, 20))


def elect_uncleanly(cluster: EmbeddedCluster, wards: Sequence[Ward]) -> None:
    """The broker that has everything dies, and the one that lags behind takes its place."""
    first, second = cluster.brokers
    first.process.kill()
    second.start()
    await_leaders_of(cluster, wards)


def await_leaders_of(cluster: EmbeddedCluster, wards: Sequence[Ward]) -> None:
    for ward in wards:
        for source in ward.pairs:
            await_leader(cluster, source.topic)


@dataclass
class Election:
    """Wards whose bad source partitions lost offsets 10 to 19 in an unclean election."""

    walked: Ward  # with a lane that had mirrored them, and was at work all the time
    walk: LaneWalk
    grown: Ward  # mirrored before, and grown beyond the loss since: only the leader epochs tell


@pytest.fixture(scope="module")
def election(prepared: Stations, copies: CommittedReader) -> Iterator[Election]:
    """One election for all tests: a cluster that loses records is dear."""
    with replicated_cluster() as cluster:
        wards = walked, grown = [replicated_ward(cluster, prepared.target, copies) for _ in range(2)]
        lag_behind(cluster, wards)
        grown.copy_all()
        with walked.lane_walk() as walk:
            walk.until_copied({walked.bad: 20, walked.well: 10})
            elect_uncleanly(cluster, wards)
            grown.feed(grown.bad, range(100, 130))
            yield Election(walked, walk, grown)


CUT_BACK = "the source's log was cut back to offset 10; offsets 10 to 19 had been mirrored"


def test_a_log_that_is_cut_back_under_a_running_lane_is_told_in_either_mode(election: Election) -> None:
    ward, walk = election.walked, election.walk
    loss = Event(EventKind.TRUNCATION, ward.bad, 10, 20, CUT_BACK)
    told, aside = walk.until_told(2)
    ward.feed(ward.well, range(10, 15))
    walk.until_copied({ward.well: 15})
    walk.end()
    assert told == loss
    assert (aside.kind, aside.source, aside.from_offset) == (EventKind.SET_ASIDE, ward.bad, 20)
    assert (ward.copied(ward.bad), ward.positions()[ward.bad].offset) == (list(range(20)), 19)
    with ward.lane_walk(GOES_ON_AT_LEAST_ONCE) as walk:
        assert walk.until_told(1) == [loss]
        ward.feed(ward.bad, range(100, 130))
        walk.until_copied({ward.bad: 40})
    assert ward.copied(ward.bad) == [*range(20), *range(100, 130)]
    assert ward.events() == [loss, aside, loss]


def test_records_lost_in_an_unclean_election_are_told_even_when_the_log_has_grown_beyond_them(
    election: Election,
) -> None:
    ward = election.grown
    loss = Event(EventKind.TRUNCATION, ward.bad, 10, 20, CUT_BACK)
    with ward.lane_walk() as walk:
        assert walk.until_told(2)[0] == loss
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    assert (ward.copied(ward.bad), ward.positions()[ward.bad].offset) == (list(range(20)), 19)
    with ward.lane_walk(GOES_ON) as walk:
        walk.until_copied({ward.bad: 40})
    assert ward.copied(ward.bad) == [*range(20), *range(100, 130)]
    assert [event.kind for event in ward.events()] == [loss.kind, EventKind.SET_ASIDE, loss.kind]
    assert ward.events()[2] == loss


def test_a_position_of_an_epoch_that_the_log_never_had_skips_nothing(election: Election) -> None:
    """The source knows epoch 0 up to offset 10 and a later one than 1, so it cannot tell where epoch 1 parted ways."""
    grown = election.grown
    again = TopicPartition(create_topic(grown.stations.target, fresh_name("again")), 0)
    ward = replace(grown, transactional_id="lane-of-another-epoch", pairs={**grown.pairs, grown.bad: again})
    told = len(ward.events())
    ward.place(Position(4, topic_id=str(ward.topic_id()), leader_epoch=1))  # nothing was written to this target
    with ward.lane_walk(GOES_ON) as walk:
        walk.until_copied({ward.bad: 40})
    assert ward.copied(ward.bad) == [*range(5, 10), *range(100, 130)]
    assert ward.events()[told:] == [Event(EventKind.TRUNCATION, ward.bad, 5, 5, REWRITTEN.format(5))]
