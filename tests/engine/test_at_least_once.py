"""Lanes without transactions: nothing is lost, and only what a kill left unrecorded is copied twice."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from heliograph.engine.settings import LaneSettings
from heliograph.kafka.fetching import FetchLimits
from heliograph.model import EventKind, Position, Run, TopicPartition
from tests.checker.stock_reader import read_committed
from tests.engine.lane_bench import PATIENCE_SECONDS, QUICK, MakeMirror, only_source
from tests.engine.ward import Ward
from tests.zoo import raw
from tests.zoo.odd_records import numbered, odd_batches
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_transactions

pytestmark = pytest.mark.kafka

AT_LEAST_ONCE = replace(QUICK, is_exactly_once=False)


class Killed(BaseException):
    """Stands for the end of the process: nothing is committed or cleaned up."""


def test_records_arrive_unchanged_and_positions_are_right(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    for source in mirror.pairs:
        raw.append(mirror.stations.source, source, [raw.batch_of(*batch) for batch in odd_batches()])
    mirror.copy_all(AT_LEAST_ONCE)
    mirror.assert_equal(at_least=2 * 5 * (13 + 420 + 1))
    found = mirror.positions()
    assert {source: position.offset + 1 for source, position in found.items()} == mirror.ends()
    for source, target in mirror.pairs.items():
        assert found[source].target_offset == list(read_committed(mirror.stations.target, target))[-1].offset


def test_only_committed_records_arrive_and_the_target_holds_no_transactions(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    committed = write_transactions(mirror.stations.source, source, count=6)
    mirror.copy_all(AT_LEAST_ONCE)
    mirror.assert_equal(at_least=committed)
    headers = [header for header, _ in raw.fetch_batches(mirror.stations.target, target)]
    assert headers
    assert not any(header.is_control or header.is_transactional for header in headers)


def test_a_second_lane_goes_on_exactly_where_the_first_stopped(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    for first in (0, 100, 200):
        mirror.write([numbered(20, first + 20 * i) for i in range(5)])
        assert sum(entry.record_count for entry in mirror.copy_all(AT_LEAST_ONCE)) == 100
    mirror.assert_equal(at_least=300)
    assert sum(run.length for run in mirror.runs(only_source(mirror))) == 300


def test_the_ledger_maps_what_was_copied(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10), numbered(5, 10)])
    mirror.copy_all(AT_LEAST_ONCE)
    assert mirror.runs(only_source(mirror)) == [Run(0, 0, 15)]


def test_what_a_killed_lane_left_unrecorded_is_copied_again_and_nothing_is_lost(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    mirror.write([numbered(100, 100 * i) for i in range(10)])

    def kill_once_something_is_written() -> bool:
        if mirror.target_end() > 0:
            raise Killed
        return False

    never_records = LaneSettings(
        commit_interval=PATIENCE_SECONDS, limits=FetchLimits(max_wait_ms=50, max_bytes=4_000), is_exactly_once=False
    )
    with pytest.raises(Killed):
        list(mirror.lane(kill_once_something_is_written, never_records))
    before = mirror.target_end()
    mirror.copy_all(AT_LEAST_ONCE)
    written = [item.content for item in read_committed(mirror.stations.source, source)]
    arrived = [item.content for item in read_committed(mirror.stations.target, target)]
    assert before > 0, "the fault did not happen"
    assert arrived == written[:before] + written
    assert set(Counter(arrived).values()) == {1, 2}


def test_a_lane_moves_to_transactions_and_back_at_the_same_position(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    for first, settings in ((0, AT_LEAST_ONCE), (10, QUICK), (20, AT_LEAST_ONCE)):
        mirror.write([numbered(10, first)])
        mirror.copy_all(settings)
    mirror.assert_equal(at_least=30)


def test_a_refused_record_stops_its_partition_alone(ward: Ward) -> None:
    strict = create_topic(ward.stations.target, fresh_name("strict"), 1, {"max.message.bytes": "2000"})
    ward.pairs[ward.bad] = TopicPartition(strict, 0)
    ward.place(Position(9, topic_id=str(ward.topic_id())))  # of which nothing was written to this target
    raw.append(ward.stations.source, ward.bad, [raw.batch_of(numbered(1, 10, size=5_000))])
    with ward.lane_walk(AT_LEAST_ONCE) as walk:
        [aside] = walk.until_told(1)
        ward.feed(ward.well, range(10, 15))
        walk.until_copied({ward.well: 15})
    assert (aside.kind, aside.source, aside.from_offset) == (EventKind.SET_ASIDE, ward.bad, 10)
    assert ward.copied(ward.well) == list(range(15))
