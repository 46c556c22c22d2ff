"""Lanes that write without transactions: every record once for every consumer, whatever happens to the lane."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from kafka import KafkaAdminClient

from heliograph.engine import by_sequences
from heliograph.engine.settings import LaneSettings
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.records import Record
from heliograph.kafka.topics import Status
from heliograph.ledger import entries
from heliograph.ledger.notes import Notes
from heliograph.ledger.offset_map import OffsetMap
from heliograph.model import EventKind, LedgerEntry, Position, TopicPartition
from tests.checker import compare_compacted
from tests.checker.stock_reader import read_committed
from tests.engine.frozen import Frozen, frozen_lane
from tests.engine.lane_bench import (
    LEDGER_TOPIC,
    OFFSETS_PARTITIONS,
    OFFSETS_TOPIC,
    PATIENCE_SECONDS,
    QUICK,
    TOPICS,
    MakeMirror,
    Mirror,
    only_source,
)
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.compacted import create_compacted, hurried_cleaner
from tests.zoo.odd_records import numbered, odd_batches
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_interleaved, write_transactions

pytestmark = pytest.mark.kafka

SEQUENCES = replace(QUICK, by_sequences=True)
NEVER_FLUSHES = replace(
    SEQUENCES, commit_interval=PATIENCE_SECONDS, limits=FetchLimits(max_wait_ms=50, max_bytes=4_000)
)


DAY = str(24 * 3600 * 1000)


class Killed(BaseException):
    """Stands for the end of the process: nothing is flushed or cleaned up."""


def kill_after(mirror: Mirror, records: int, settings: LaneSettings = NEVER_FLUSHES, **plan: object) -> None:
    """A lane is killed as soon as it has written so many records more, none of which is flushed."""
    before = mirror.target_end()

    def is_over() -> bool:
        if mirror.target_end() >= before + records:
            raise Killed
        return False

    with pytest.raises(Killed):
        list(mirror.lane(is_over, settings, mirror.plan(**plan)))


def open_notes(mirror: Mirror) -> Notes:
    """What is declared on the target."""
    known = Notes()
    with raw.network(mirror.stations.target, TOPICS.declarations) as (loop, network):
        for _, record in reading.read_to_end(loop, network, TOPICS.declarations, {0: 0}):
            known.apply(record.offset, record.key, record.value)
    return known


def are_open(mirror: Mirror) -> bool:
    known = open_notes(mirror)
    return any(known.about(source) for source in mirror.pairs)


# -- content -----------------------------------------------------------------------------------------------


def test_records_arrive_unchanged_outside_any_transaction(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    for source in mirror.pairs:
        raw.append(mirror.stations.source, source, [raw.batch_of(*batch) for batch in odd_batches()])
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal(at_least=2 * 5 * (13 + 420 + 1))
    mirror.assert_ledger_maps_every_record()
    for target in mirror.pairs.values():
        headers = [header for header, _ in raw.fetch_batches(mirror.stations.target, target)]
        assert not any(header.is_transactional for header in headers if not header.is_control)


def test_a_source_with_gaps_arrives_without_them(make_mirror: MakeMirror, prepared: Stations) -> None:
    mirror = make_mirror()
    committed = write_transactions(mirror.stations.source, only_source(mirror), count=20)
    write_interleaved(mirror.stations.source, only_source(mirror))
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal(at_least=committed + 4 * 7 + 5)
    mirror.assert_ledger_maps_every_record()
    compacted = create_compacted(prepared.source, fresh_name("compacted"))
    other = make_mirror(source=compacted.topic)
    other.copy_all(SEQUENCES)
    other.assert_equal(at_least=5)
    assert compare_compacted(prepared.source, prepared.target, other.pairs).is_equal


def test_a_position_tells_who_wrote_it_and_the_next_sequence_number(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10), numbered(15, 10)])
    mirror.copy_all(SEQUENCES)
    [position] = mirror.positions().values()
    [*_, (header, _)] = raw.fetch_batches(mirror.stations.target, mirror.pairs[only_source(mirror)])
    assert (position.offset, position.sequence) == (24, 25)
    assert (position.producer_id, position.producer_epoch) == (header.producer_id, header.producer_epoch)
    assert position.target_offset == header.last_offset


# -- one session after the other ---------------------------------------------------------------------------


def test_after_a_clean_end_nothing_is_open_and_the_next_lane_goes_on(make_mirror: MakeMirror) -> None:
    """Batches of the same length: under the same epoch brokers would take the second for the first."""
    mirror = make_mirror()
    for first in (0, 10, 20):
        mirror.write([numbered(10, first)])
        assert sum(entry.record_count for entry in mirror.copy_all(SEQUENCES)) == 10
        assert not are_open(mirror)
    mirror.assert_equal(at_least=30)
    mirror.assert_ledger_maps_every_record()


@pytest.mark.parametrize("has_gaps", [False, True], ids=["dense", "with-gaps"])
def test_what_a_killed_lane_did_not_flush_is_found_on_the_target(make_mirror: MakeMirror, has_gaps: bool) -> None:
    mirror = make_mirror()
    if has_gaps:
        write_transactions(mirror.stations.source, only_source(mirror), count=60, size=15)
    else:
        mirror.write([numbered(100, 100 * i) for i in range(10)])
    for _ in range(3):
        kill_after(mirror, 20)
        assert mirror.positions()[only_source(mirror)].sequence == 0, "what was copied was flushed before the kill"
    assert are_open(mirror)
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal(at_least=500)
    mirror.assert_ledger_maps_every_record()
    assert not are_open(mirror)


def test_a_clean_end_does_not_vouch_for_who_comes_later(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10)])
    mirror.copy_all(SEQUENCES)
    mirror.write([numbered(10, 10 + 10 * i) for i in range(10)])
    kill_after(mirror, 10)
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal(at_least=110)
    mirror.assert_ledger_maps_every_record()


def test_a_lane_that_dies_between_ledger_and_positions_tells_the_same_runs_again(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = make_mirror()
    source = only_source(mirror)
    write_transactions(mirror.stations.source, source, count=30)
    flushes: list[str] = []

    def die(point: str) -> None:
        flushes.append(point)
        if flushes.count("bookkeeping-written") == 2:  # the first tells where the partition begins
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(by_sequences, "fault_point", die)
        with pytest.raises(Killed):
            list(mirror.lane(lambda: False, SEQUENCES))
    assert sum(run.length for run in mirror.runs(source)) > 0
    assert mirror.positions()[source].offset == -1
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal()
    offsets = OffsetMap()
    with raw.network(mirror.stations.target, LEDGER_TOPIC) as (loop, network):
        for _, record in reading.read_to_end(loop, network, LEDGER_TOPIC, {0: 0}):
            entry = entries.decode(record.value)
            if isinstance(entry, LedgerEntry):
                offsets.add(entry)
    arrived = {item.offset: item.content for item in read_committed(mirror.stations.target, mirror.pairs[source])}
    for item in read_committed(mirror.stations.source, source):
        place = offsets.to_target(source, item.offset)
        assert place is not None
        assert place.is_exact
        assert arrived[place.offset] == item.content


# -- several lanes -----------------------------------------------------------------------------------------


@contextmanager
def frozen_after(mirror: Mirror, records: int, settings: LaneSettings = NEVER_FLUSHES) -> Iterator[Frozen]:
    """A lane that has written so many records, and has not flushed them."""
    before = mirror.target_end()
    with frozen_lane(
        lambda is_over: mirror.lane(is_over, settings), lambda: mirror.target_end() >= before + records
    ) as lane:
        yield lane
    assert lane.failure is None, lane.failure


def test_a_frozen_lane_that_wakes_up_beside_its_successor_repeats_nothing(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10, 10 * i) for i in range(30)])
    with frozen_after(mirror, 40) as frozen:
        mirror.copy_all(SEQUENCES)
        mirror.assert_equal(at_least=300)
        frozen.go_on()
        mirror.write([numbered(10, 300 + 10 * i) for i in range(5)])
        wait_until(lambda: bool(mirror.target_end() >= 350), "the lane to go on")
    mirror.assert_equal(at_least=350)
    mirror.assert_ledger_maps_every_record()


def test_another_lane_goes_on_where_a_killed_one_was(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    for partition in range(2):
        mirror.write([numbered(10, 10 * i) for i in range(30)], partition)
    kill_after(mirror, 40)
    other = mirror.plan(name=f"{mirror.transactional_id}-another-")
    mirror.copy_all(SEQUENCES, other)
    mirror.assert_equal(at_least=600)
    mirror.assert_ledger_maps_every_record()


def test_a_frozen_lane_cannot_write_once_another_has_its_partition(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10, 10 * i) for i in range(30)])
    with frozen_after(mirror, 40) as frozen:
        mirror.copy_all(SEQUENCES, mirror.plan(name=f"{mirror.transactional_id}-another-"))
        frozen.go_on()
    mirror.assert_equal(at_least=300)
    mirror.assert_ledger_maps_every_record()


# -- other strategies and other mirrors --------------------------------------------------------------------


@pytest.mark.parametrize(
    "order", [(SEQUENCES, QUICK, SEQUENCES), (QUICK, SEQUENCES, QUICK)], ids=["to-and-fro", "fro-and-to"]
)
def test_lanes_with_and_without_transactions_follow_each_other(
    make_mirror: MakeMirror, order: tuple[LaneSettings, ...]
) -> None:
    mirror = make_mirror()
    for number, settings in enumerate(order):
        mirror.write([numbered(10, 100 * number + 10 * i) for i in range(10)])
        never = replace(NEVER_FLUSHES, by_sequences=settings.by_sequences)
        kill_after(mirror, 30, never)
        mirror.copy_all(settings)
        mirror.assert_equal(at_least=100 * (number + 1))
    mirror.assert_ledger_maps_every_record()
    assert not are_open(mirror)


@pytest.mark.parametrize("settings", [SEQUENCES, QUICK], ids=["sequences", "transactions"])
def test_after_a_kill_either_way_to_commit_goes_on_with_the_tail(
    make_mirror: MakeMirror, settings: LaneSettings
) -> None:
    mirror = make_mirror()
    write_transactions(mirror.stations.source, only_source(mirror), count=40, size=15)
    kill_after(mirror, 30)
    mirror.copy_all(settings)
    mirror.assert_equal(at_least=300)
    mirror.assert_ledger_maps_every_record()
    assert not are_open(mirror)


def write_position(mirror: Mirror, source: TopicPartition, position: Position) -> None:
    """As another mirror would."""
    key = positions.encode_key("primary", source)
    where = TopicPartition(OFFSETS_TOPIC, positions.partition_for(key, OFFSETS_PARTITIONS))
    record = Record(0, int(time.time() * 1000), key, positions.encode_value(position))
    raw.append(mirror.stations.target, where, [raw.batch_of([record])])


def test_a_position_that_another_mirror_has_written_wins(make_mirror: MakeMirror) -> None:
    """It has mirrored on from there, or somebody has moved it: what lanes have declared before is void."""
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    mirror.write([numbered(10, 10 * i, size=1_000) for i in range(10)])
    kill_after(mirror, 20)
    ours = [item.content for item in read_committed(mirror.stations.target, target)]
    assert 20 <= len(ours) < 100
    write_position(mirror, source, Position(89))
    mirror.copy_all(SEQUENCES)
    written = [item.content for item in read_committed(mirror.stations.source, source)]
    arrived = [item.content for item in read_committed(mirror.stations.target, target)]
    assert arrived == ours + written[90:]
    assert not are_open(mirror)
    mirror.write([numbered(10, 100)])
    kill_after(mirror, 5)
    mirror.copy_all(SEQUENCES)
    written = [item.content for item in read_committed(mirror.stations.source, source)]
    assert [item.content for item in read_committed(mirror.stations.target, target)] == arrived + written[100:]


# -- losses ------------------------------------------------------------------------------------------------


def create_again(servers: str, topic: str) -> None:
    """Delete a topic, and create it without a record."""
    with closing(KafkaAdminClient(bootstrap_servers=servers)) as admin:
        admin.delete_topics([topic])
    with raw.network(servers) as (_, network):
        wait_until(lambda: bool(network.look_up([topic])), "the topic to be gone")
    create_topic(servers, topic)


def test_a_target_that_was_created_again_after_a_kill_is_told(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    mirror.write([numbered(10, 10 * i) for i in range(10)])
    mirror.copy_all(SEQUENCES)
    mirror.write([numbered(10, 100 + 10 * i) for i in range(10)])
    kill_after(mirror, 20)
    create_again(mirror.stations.target, target.topic)
    told = mirror.copy_all(replace(SEQUENCES, goes_on_after_loss=True))
    events = [event for entry in told for event in entry.events]
    assert [(event.kind, event.source) for event in events] == [(EventKind.TARGET_LOSS, source)]
    arrived = [item.content for item in read_committed(mirror.stations.target, target)]
    written = [item.content for item in read_committed(mirror.stations.source, source)]
    assert arrived == written[100:]


def admin_settings(servers: str, topic: str, settings: dict[str, str]) -> None:
    with Admin(Access("primary", servers.split(","))) as admin:
        assert admin.alter_topic_settings({topic: settings})[topic].status is Status.DONE


def test_a_source_that_is_compacted_after_a_kill_loses_and_repeats_nothing(
    make_mirror: MakeMirror, prepared: Stations
) -> None:
    """Who counted records on a source that has become shorter would leave some out."""
    settings = {
        "cleanup.policy": "compact",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "max.compaction.lag.ms": "100",
    }
    with hurried_cleaner(prepared.source):
        name = create_topic(prepared.source, fresh_name("to-be-compacted"), settings=settings | {"segment.ms": "60000"})
        mirror = make_mirror(source=name)
        source, target = next(iter(mirror.pairs.items()))
        now = int(time.time() * 1000)
        some = [[Record(0, now, b"k%d" % (i % 5), b"%d" % i)] for i in range(60)]
        raw.append(prepared.source, source, [raw.batch_of(one) for one in some])
        one_by_one = replace(NEVER_FLUSHES, limits=FetchLimits(max_wait_ms=50, max_bytes=400, partition_max_bytes=400))
        kill_after(mirror, 20, one_by_one)
        arrived = [item.content.value for item in read_committed(prepared.target, target)]
        admin_settings(prepared.source, name, {"segment.ms": "100"})

        def is_compacted() -> bool:
            """A record that arrives after segment.ms closes the segment before it."""
            raw.append(prepared.source, source, [raw.batch_of([Record(0, int(time.time() * 1000), b"roll", b"")])])
            return len(list(read_committed(prepared.source, source))) < 20

        wait_until(is_compacted, "the cleaner", seconds=60, interval=0.2)
        admin_settings(prepared.source, name, {"max.compaction.lag.ms": DAY, "min.compaction.lag.ms": DAY})
    left = {item.offset: item.content.value for item in read_committed(prepared.source, source)}
    mirror.copy_all(SEQUENCES)
    expected = arrived + [value for offset, value in left.items() if offset >= len(arrived)]
    assert [item.content.value for item in read_committed(prepared.target, target)] == expected
