"""A lane between two real clusters: every record arrives once, in order, unchanged, whatever happens to the lane."""

from __future__ import annotations

import time
from contextlib import closing

import pytest

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import positions, reading
from heliograph.kafka.batches import HEADER_SIZE
from heliograph.kafka.fetching import FetchLimits, FetchResult, FetchSession
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import Position, Run, TopicPartition
from tests.checker import compare_compacted
from tests.checker.stock_reader import read_committed
from tests.engine.lane_bench import (
    OFFSETS_PARTITIONS,
    OFFSETS_TOPIC,
    PATIENCE_SECONDS,
    MakeMirror,
    Mirror,
    only_source,
)
from tests.zoo import raw
from tests.zoo.compacted import create_compacted, has_holes
from tests.zoo.odd_records import CODECS, large_record, numbered, odd_batches
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import abort_open, leave_open, write_interleaved, write_transactions

pytestmark = pytest.mark.kafka


class Killed(BaseException):
    """Stands for the end of the process: nothing is committed or cleaned up."""


# -- content ----------------------------------------------------------------------------------------------------------


def test_odd_records_in_batches_of_every_codec_arrive_unchanged(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    raw.append(mirror.stations.source, only_source(mirror), [raw.batch_of(*batch) for batch in odd_batches()])
    mirror.copy_all()
    mirror.assert_equal(at_least=5 * (13 + 420 + 1))


def data_batches(bootstrap_servers: str, where: TopicPartition) -> list[bytes]:
    """The records sections of all batches of a partition but markers."""
    found = raw.fetch_batches(bootstrap_servers, where)
    return [data[HEADER_SIZE:] for header, data in found if not header.is_control]


def test_large_batches_keep_their_bytes(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    written = [raw.batch_of(numbered(40, 40 * i, size=5000)) for i in range(3)]
    written += [raw.batch_of([large_record(codec)], codec) for codec in CODECS.values()]
    raw.append(mirror.stations.source, source, written)
    mirror.copy_all()
    mirror.assert_equal(at_least=125)
    assert data_batches(mirror.stations.target, target) == data_batches(mirror.stations.source, source)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_small_batches_arrive_in_few_large_ones(make_mirror: MakeMirror, codec: int) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    raw.append(mirror.stations.source, source, [raw.batch_of(numbered(1, i), codec) for i in range(300)])
    mirror.copy_all()
    mirror.assert_equal(at_least=300)
    assert len(data_batches(mirror.stations.target, target)) < 30
    mirror.assert_ledger_maps_every_record()


def test_small_transactions_arrive_in_few_batches(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    [(source, target)] = mirror.pairs.items()
    committed = write_transactions(mirror.stations.source, source, count=60, size=1)
    mirror.copy_all()
    mirror.assert_equal(at_least=committed)
    assert len(data_batches(mirror.stations.target, target)) < 8
    mirror.assert_ledger_maps_every_record()


def test_only_committed_records_arrive_and_nothing_behind_an_open_transaction(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    source = only_source(mirror)
    committed = write_transactions(mirror.stations.source, source)
    write_interleaved(mirror.stations.source, source)
    name = leave_open(mirror.stations.source, source)
    mirror.write([numbered(10)])
    mirror.copy_all()
    mirror.assert_equal(at_least=committed + 4 * 7 + 5)
    arrived = mirror.target_end("read_committed")
    abort_open(mirror.stations.source, name)
    mirror.copy_all()
    mirror.assert_equal(at_least=committed + 4 * 7 + 5 + 10)
    assert mirror.target_end("read_committed") > arrived


def test_a_compacted_topic_with_holes_arrives_without_them(make_mirror: MakeMirror, prepared: Stations) -> None:
    source = create_compacted(prepared.source, fresh_name("compacted"))
    mirror = make_mirror(source=source.topic)
    mirror.copy_all()
    mirror.assert_equal(at_least=5)
    assert compare_compacted(prepared.source, prepared.target, mirror.pairs).is_equal
    assert any(has_holes(header) for header, _ in raw.fetch_batches(prepared.source, source))
    assert not any(has_holes(header) for header, _ in raw.fetch_batches(prepared.target, mirror.pairs[source]))


def test_times_set_by_the_source_broker_become_the_times_of_the_copy(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(settings={"message.timestamp.type": "LogAppendTime"})
    mirror.write([numbered(5), numbered(1, 5), numbered(30, 6)])
    mirror.copy_all()
    mirror.assert_equal(at_least=36)
    times = {
        item.content.timestamp for item in read_committed(mirror.stations.target, mirror.pairs[only_source(mirror)])
    }
    assert min(times) > 1_750_000_000_000, "the broker's clock, not the producer's times"


def test_several_partitions_and_topics_with_other_names_arrive(make_mirror: MakeMirror, prepared: Stations) -> None:
    first, second = make_mirror(partitions=3), make_mirror(partitions=2)
    renamed = create_topic(prepared.target, fresh_name("entirely-different"), 2)
    other = {source: TopicPartition(renamed, source.partition) for source in second.pairs}
    mirror = Mirror(prepared, {**first.pairs, **other}, first.transactional_id)
    for number, source in enumerate(mirror.pairs):
        raw.append(prepared.source, source, [raw.batch_of(numbered(50, 100 * number + i)) for i in range(20)])
    mirror.copy_all()
    mirror.assert_equal(at_least=5 * 20 * 50)


def test_an_empty_topic_stays_empty_beside_a_busy_one(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    mirror.write([numbered(10)], partition=1)
    mirror.copy_all()
    mirror.assert_equal(at_least=10)
    assert [source.partition for source in mirror.positions()] == [1]


def test_batches_larger_than_a_fetch_arrive(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(40, i * 40, size=5000) for i in range(10)])
    mirror.copy_all(LaneSettings(0.2, FetchLimits(max_wait_ms=50, max_bytes=70_000, partition_max_bytes=1_000)))
    mirror.assert_equal(at_least=400)


# -- positions and ledger ---------------------------------------------------------------------------------------------


def test_the_position_is_the_last_source_offset_and_where_it_went(make_mirror: MakeMirror, prepared: Stations) -> None:
    mirror = make_mirror()
    raw.append(prepared.target, mirror.pairs[only_source(mirror)], [raw.batch_of(numbered(7))])
    mirror.write([numbered(10), numbered(15, 10)])
    mirror.copy_all()
    with raw.network(prepared.source, only_source(mirror).topic) as (_, network):
        topic_id = str(network.topic_id(only_source(mirror).topic))
    [position] = mirror.positions().values()
    last = list(read_committed(prepared.target, mirror.pairs[only_source(mirror)]))[-1]
    assert (position.offset, position.target_offset, position.topic_id) == (24, last.offset, topic_id)
    assert position.leader_epoch >= 0


def test_positions_lie_where_javas_partitioner_puts_their_keys(make_mirror: MakeMirror, prepared: Stations) -> None:
    mirror = make_mirror(partitions=4)
    for partition in range(4):
        mirror.write([numbered(3)], partition)
    mirror.copy_all()
    with raw.network(prepared.target, OFFSETS_TOPIC) as (loop, network):
        starts = dict.fromkeys(range(OFFSETS_PARTITIONS), 0)
        where = {
            record.key: partition for partition, record in reading.read_to_end(loop, network, OFFSETS_TOPIC, starts)
        }
    for source in mirror.pairs:
        key = positions.encode_key("primary", source)
        assert where[key] == positions.partition_for(key, OFFSETS_PARTITIONS)


def test_a_position_passes_what_was_skipped(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    write_transactions(mirror.stations.source, only_source(mirror), count=3)
    mirror.copy_all()
    assert {source: position.offset + 1 for source, position in mirror.positions().items()} == mirror.ends()


def test_the_ledger_maps_every_source_offset_to_the_record_with_its_content(
    make_mirror: MakeMirror, prepared: Stations
) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10), numbered(1, 10), numbered(5, 11)])
    write_transactions(prepared.source, only_source(mirror), count=6)
    write_interleaved(prepared.source, only_source(mirror))
    mirror.copy_all()
    mirror.assert_ledger_maps_every_record()


def test_the_ledger_maps_every_offset_of_a_compacted_topic(make_mirror: MakeMirror, prepared: Stations) -> None:
    source = create_compacted(prepared.source, fresh_name("compacted"))
    mirror = make_mirror(source=source.topic)
    mirror.copy_all()
    mirror.assert_ledger_maps_every_record()


def test_consecutive_batches_are_one_run(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10), numbered(20, 10), numbered(5, 30)])
    [entry, *_] = [entry for entry in mirror.copy_all() if entry.partitions]
    assert entry.partitions[0].runs == (Run(0, 0, 35),)
    assert entry.record_count == 35


# -- going on ---------------------------------------------------------------------------------------------------------


def test_a_second_lane_goes_on_exactly_where_the_first_stopped(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    for round_ in range(3):
        for partition in range(2):
            mirror.write([numbered(30, 100 * round_ + i) for i in range(5)], partition)
        entries = mirror.copy_all()
        assert sum(entry.record_count for entry in entries) == 2 * 5 * 30
        mirror.assert_equal(at_least=(round_ + 1) * 2 * 5 * 30)


def test_positions_in_the_plan_count_until_newer_ones_are_found(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10)])
    mirror.copy_all()
    mirror.write([numbered(10, 10)])
    mirror.copy_all(plan=mirror.plan(positions={only_source(mirror): Position(3)}))
    mirror.assert_equal(at_least=20)


@pytest.mark.parametrize("codec", range(5))
def test_a_start_in_the_middle_of_a_batch_copies_only_the_rest(make_mirror: MakeMirror, codec: int) -> None:
    mirror = make_mirror()
    source = only_source(mirror)
    raw.append(
        mirror.stations.source, source, [raw.batch_of(numbered(10, 0), codec), raw.batch_of(numbered(10, 10), codec)]
    )
    mirror.copy_all(plan=mirror.plan(positions={source: Position(6)}))
    written = [item.content for item in read_committed(mirror.stations.source, source)]
    arrived = [item.content for item in read_committed(mirror.stations.target, mirror.pairs[source])]
    assert arrived == written[7:]
    assert [(run.source, run.length) for run in mirror.runs(source)] == [(7, 13)]


def test_what_a_killed_lane_left_uncommitted_is_copied_once(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(100, 100 * i) for i in range(10)])

    def kill_once_something_is_written() -> bool:
        if mirror.target_end() > 0:
            raise Killed
        return False

    never_commits = LaneSettings(commit_interval=PATIENCE_SECONDS, limits=FetchLimits(max_wait_ms=50, max_bytes=4_000))
    with pytest.raises(Killed):
        list(mirror.lane(kill_once_something_is_written, never_commits))
    assert mirror.target_end() > mirror.target_end("read_committed") == 0, "the fault did not happen"
    mirror.copy_all()
    mirror.assert_equal(at_least=1000)
    mirror.assert_ledger_maps_every_record()


def test_a_lane_that_was_taken_over_writes_nothing_more(make_mirror: MakeMirror) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10)])
    old = mirror.lane(lambda: False)
    assert next(old).record_count == 10
    mirror.write([numbered(10, 10)])
    mirror.copy_all()
    mirror.write([numbered(10, 20)])
    # The old lane is fenced at its next write, begins again at the position that the new one left, and goes on.
    with closing(old):
        copied = 0
        for entry in old:
            copied += entry.record_count
            if mirror.positions()[only_source(mirror)].offset == 29:
                break
    assert copied == 10
    mirror.assert_equal(at_least=30)


def test_records_that_arrive_while_a_lane_runs_are_all_copied(make_mirror: MakeMirror) -> None:
    mirror = make_mirror(partitions=2)
    done: set[TopicPartition] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    lane = mirror.lane(lambda: len(done) == 2 or time.monotonic() > deadline)
    mirror.write([numbered(1)])
    for round_, entry in enumerate(lane):
        for progress in entry.partitions:
            if progress.last_offset == 60:
                done.add(progress.source)
        if round_ < 60:
            mirror.write([numbered(1, round_ + 1)], partition=0)
            mirror.write([numbered(1, round_)], partition=1)
        elif round_ == 60:
            mirror.write([numbered(1, round_)], partition=1)
    assert len(done) == 2
    mirror.assert_equal(at_least=122)


def test_records_that_are_fetched_during_a_commit_belong_to_the_next_one(
    make_mirror: MakeMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = make_mirror()
    mirror.write([numbered(10)])
    arrived: list[int] = []
    decode, begin_end = FetchSession.decode, TransactionalProducer.begin_end

    def count_and_decode(session: FetchSession, body: memoryview) -> FetchResult:
        result = decode(session, body)
        with_records = [item.point for item in result.partitions if len(item.records)]
        arrived.append(sum(TopicPartition(point.topic, point.partition) in mirror.pairs for point in with_records))
        return result

    def let_more_arrive_and_end(producer: TransactionalProducer, commit: bool) -> None:
        if sum(arrived) == 1:
            mirror.write([numbered(10, 10)])
            producer._network.loop.run_until(lambda: sum(arrived) == 2)
        begin_end(producer, commit)

    monkeypatch.setattr(FetchSession, "decode", count_and_decode)
    monkeypatch.setattr(TransactionalProducer, "begin_end", let_more_arrive_and_end)
    last_offsets: list[int] = []
    patient = LaneSettings(commit_interval=5, limits=FetchLimits(max_wait_ms=5_000))
    deadline = time.monotonic() + 10

    def should_end() -> bool:
        return 19 in last_offsets or time.monotonic() > deadline

    for entry in mirror.lane(should_end, patient):
        last_offsets.extend(progress.last_offset for progress in entry.partitions)
    assert last_offsets == [9, 19]
    mirror.assert_equal(at_least=20)
