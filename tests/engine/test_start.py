"""Where partitions without a position begin; and that with `none` they do not."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from heliograph.engine.start import NOWHERE, WHY_NOWHERE, Newcomers, beginnings, first_offsets
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Event, EventKind, Position, TopicPartition
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import QUICK, MakeMirror
from tests.engine.ward import Ward
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.stations import Stations
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

NONE = replace(QUICK, start=NOWHERE)
FIRST_TIME = 1_700_000_000_000  # of the records that are fed


@pytest.fixture
def newcomer(make_mirror: MakeMirror, ward: Ward) -> Ward:
    """Two topics with ten records each, of which only the second was ever mirrored."""
    first = make_mirror()
    made = replace(ward, pairs={**first.pairs, ward.well: ward.pairs[ward.well]})
    made.feed(made.bad, range(10))
    return made


def commit(ward: Ward, offsets: dict[TopicPartition, int], group: str = "") -> str:
    """Commit offsets on the source for a group, a new one unless it is named; returns its name."""
    name = group or fresh_name("start-group")
    with Groups(Access("primary", ward.stations.source.split(","))) as groups:
        groups.commit({name: {where: Committed(offset) for where, offset in offsets.items()}})
    return name


# -- a place to begin --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "offset"),
    [(EARLIEST, 3), (LATEST, 10), (FIRST_TIME + 7, 7), (FIRST_TIME + 99, 10)],
    ids=["earliest", "latest", "a time", "a time after all records"],
)
def test_a_start_stands_for_an_offset(newcomer: Ward, start: int, offset: int) -> None:
    newcomer.delete_records(before=3)
    with raw.network(newcomer.stations.source, newcomer.bad.topic) as (_, network):
        assert first_offsets(network, [newcomer.bad], start) == {newcomer.bad: offset}


def test_a_group_tells_where_to_begin_and_the_rest_begins_as_ever(newcomer: Ward) -> None:
    group = commit(newcomer, {newcomer.bad: 4})
    with raw.network(newcomer.stations.source, newcomer.bad.topic, newcomer.well.topic) as (_, network):
        both = [newcomer.bad, newcomer.well]
        assert beginnings(network, both, replace(QUICK, start_group=group)) == {newcomer.bad: 4, newcomer.well: 0}
        assert beginnings(network, both, replace(NONE, start_group=group)) == {newcomer.bad: 4}
        assert beginnings(network, both, replace(QUICK, start=LATEST, start_group="no-such-group")) == dict.fromkeys(
            both, 10
        )


def test_a_lane_begins_where_the_group_stood_and_never_asks_it_again(newcomer: Ward) -> None:
    settings = replace(QUICK, start_group=commit(newcomer, {newcomer.bad: 4}))
    newcomer.copy_all(settings)
    commit(newcomer, {newcomer.bad: 0}, settings.start_group)
    newcomer.feed(newcomer.bad, range(10, 12))
    newcomer.copy_all(settings)
    assert newcomer.copied(newcomer.bad) == list(range(4, 12))


@pytest.mark.parametrize("end", [10, 0], ids=["some records", "an empty partition"])
def test_a_start_at_the_end_holds_before_the_first_record(newcomer: Ward, make_mirror: MakeMirror, end: int) -> None:
    empty = make_mirror()
    ward = newcomer if end else replace(newcomer, pairs=empty.pairs, transactional_id=empty.transactional_id)
    latest = replace(QUICK, start=LATEST)
    with ward.lane_walk(latest) as walk:
        walk.until_copied({ward.bad: end})
    assert ward.positions()[ward.bad].offset == end - 1
    ward.feed(ward.bad, range(end, end + 3))
    ward.copy_all(latest)
    assert ward.copied(ward.bad) == list(range(end, end + 3))


def test_a_partition_that_is_added_to_a_mirrored_topic_begins_at_its_first_record(make_mirror: MakeMirror) -> None:
    latest = replace(QUICK, start=LATEST)
    mirror = make_mirror(partitions=2)
    old, added = mirror.pairs
    before = replace(mirror, pairs={old: mirror.pairs[old]})
    mirror.write([numbered(5)], partition=0)
    with closing(before.lane(lambda: False, latest)) as lane:
        next(lane)
    assert before.positions()[old].offset == 4
    mirror.write([numbered(5)], partition=1)
    mirror.copy_all(latest, mirror.plan(positions=before.positions(), added=frozenset({added})))
    with CommittedReader(mirror.stations.target) as copies:
        assert len(list(copies.read_again(mirror.pairs[added]))) == 5
        assert list(copies.read_again(mirror.pairs[old])) == []


# -- which partitions were added ---------------------------------------------------------------------------------------


def some(*numbers: int, topic: str = "orders") -> set[TopicPartition]:
    return {TopicPartition(topic, number) for number in numbers}


def test_a_partition_with_a_higher_number_than_all_that_have_positions_was_added() -> None:
    newcomers = Newcomers()
    newcomers.look(some(0, 1, 2, 3), some(0, 2))
    assert newcomers.added == some(3)


def test_partitions_of_a_topic_without_positions_were_there_from_the_first() -> None:
    newcomers = Newcomers()
    newcomers.look(some(0, 1) | some(0, topic="others"), some(0, topic="others"))
    assert newcomers.added == set()
    newcomers.look(some(0, 1), some(0))  # by now the first has begun, and the other one still has no leader
    assert newcomers.added == set()


def test_a_partition_was_added_if_its_topic_has_grown_while_we_looked() -> None:
    newcomers = Newcomers()
    newcomers.look(some(0), set())
    newcomers.look(some(0, 1), set())
    newcomers.look(some(0, 1), some(0, 1))
    assert newcomers.added == some(1)


def test_nothing_is_asked_for_no_partitions(prepared: Stations) -> None:
    with raw.network(prepared.source) as (_, network):
        assert first_offsets(network, [], EARLIEST) == {}


# -- none --------------------------------------------------------------------------------------------------------------


def aside(where: TopicPartition) -> Event:
    """What is told of a partition that has no place to begin."""
    return Event(EventKind.SET_ASIDE, where, -1, -1, WHY_NOWHERE)


def test_a_partition_without_a_position_is_set_aside_with_advice_and_the_other_flows(newcomer: Ward) -> None:
    newcomer.feed(newcomer.well, range(10, 15))
    with newcomer.lane_walk(NONE) as walk:
        walk.until_copied({newcomer.well: 15})
        walk.until_told(1)
    assert newcomer.events() == [aside(newcomer.bad)]
    assert newcomer.copied(newcomer.bad) == []
    assert newcomer.bad not in newcomer.positions()
    assert "auto.offset.reset is none; set it to earliest or latest" in WHY_NOWHERE


def test_it_begins_when_a_position_appears(newcomer: Ward) -> None:
    with newcomer.lane_walk(NONE) as walk:
        walk.until_told(1)
    newcomer.place(Position(4))
    with newcomer.lane_walk(NONE, newcomer.plan(set_aside={newcomer.bad: WHY_NOWHERE})) as walk:
        walk.until_copied({newcomer.bad: 10})
    assert newcomer.copied(newcomer.bad) == list(range(5, 10))
    assert newcomer.events() == [aside(newcomer.bad), Event(EventKind.RESUMED, newcomer.bad, 5, -1, "goes on")]


def test_it_is_told_once_and_not_with_every_lane(newcomer: Ward) -> None:
    newcomer.feed(newcomer.well, range(10, 15))
    with newcomer.lane_walk(NONE, newcomer.plan(set_aside={newcomer.bad: WHY_NOWHERE})) as walk:
        walk.until_copied({newcomer.well: 15})
    assert newcomer.events() == []


@pytest.mark.parametrize("goes_on", [False, True])
def test_records_that_are_lost_are_a_matter_of_the_policy_for_losses(ward: Ward, goes_on: bool) -> None:
    ward.feed(ward.bad, range(10, 20))
    ward.delete_records(before=15)
    with ward.lane_walk(replace(NONE, goes_on_after_loss=goes_on)) as walk:
        walk.until_told(1)
        if goes_on:
            walk.until_copied({ward.bad: 20})
    kinds = [EventKind.RETENTION] if goes_on else [EventKind.RETENTION, EventKind.SET_ASIDE]
    assert [event.kind for event in ward.events()] == kinds
    assert ward.copied(ward.bad) == [*range(10), *(range(15, 20) if goes_on else ())]
