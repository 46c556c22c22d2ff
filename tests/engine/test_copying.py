from __future__ import annotations

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import pytest

from heliograph.engine.copying import CopyRules, PartitionCopy
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.kafka import batches, records
from heliograph.kafka.batches import BatchHeader
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import Producer
from heliograph.model import Assignment, Position, Run, TopicPartition
from tests.zoo import handmade

SOURCE, TARGET = TopicPartition("orders", 0), TopicPartition("primary.orders", 0)
TOPIC_ID = UUID(int=99)
LARGE = 5_000


def large(base_offset: int, count: int = 1, **fields: int) -> bytes:
    """A batch too large to be joined with others."""
    values = [handmade.record(b"v%d" % (base_offset + i) + b"." * LARGE, i) for i in range(count)]
    return handmade.batch(base_offset, values, **fields)


class Bench:
    """One partition being copied, with its target queue in the open."""

    def __init__(self, start: int = 0, max_batch_bytes: int = 1_000_000, rules: CopyRules | None = None) -> None:
        self.point = FetchPoint("orders", TOPIC_ID, 0, start)
        self.target = TargetPartition(TARGET, broker_id=1)
        outgoing = Outgoing(cast("Network", None), cast("Producer", None))
        assignment = Assignment(SOURCE, TARGET, max_batch_bytes)
        self.copy = PartitionCopy(assignment, self.point, self.target, outgoing, rules=rules)
        self.released = 0

    def accept(self, *pieces: bytes, aborted: Sequence[tuple[int, int]] = (), end: int = 1_000) -> int:
        """Hand over one fetch response with these batches."""
        data = memoryview(bytearray(b"".join(pieces)))
        return self.copy.accept(Fetched(self.point, 0, end, end, 0, None, -1, aborted, data), self._release)

    def _release(self) -> None:
        self.released += 1

    def append(self, base_offset: int) -> None:
        """Let the target append the oldest queued batch at this offset."""
        self.target.queue.popleft().on_appended(base_offset)

    def queued(self) -> list[tuple[BatchHeader, list[Record]]]:
        """Headers and records of all queued batches."""
        views = [memoryview(data) for data, *_ in self.target.queue]
        return [(batches.read_header(view), list(records.decode(2, view))) for view in views]

    def numbers(self) -> list[list[int]]:
        """The numbers in the values of the queued batches."""
        return [[int((record.value or b"").strip(b"v.")) for record in found] for _, found in self.queued()]


def test_a_batch_leaves_from_where_it_was_received() -> None:
    bench = Bench()
    assert bench.accept(large(0, 3), large(3)) == 2
    assert all(isinstance(data, memoryview) for data, *_ in bench.target.queue)
    assert all(
        batches.is_intact(memoryview(data), batches.read_header(memoryview(data))) for data, *_ in bench.target.queue
    )


def test_nothing_is_done_before_it_is_appended() -> None:
    bench = Bench()
    bench.accept(large(0, 3), large(3, 2))
    assert (bench.copy.has_moved, bench.copy.has_queued, bench.point.offset) == (False, True, 5)
    bench.append(100)
    assert (bench.copy.has_moved, bench.copy.has_queued, bench.released) == (True, True, 1)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, progress.last_offset) == ((Run(0, 100, 3),), 2)
    assert position == Position(2, 102, str(TOPIC_ID), 7)
    assert not bench.copy.has_moved
    bench.append(200)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset, position.target_offset) == ((Run(3, 200, 2),), 4, 201)


def test_runs_are_joined_only_where_both_sides_go_on() -> None:
    bench = Bench()
    bench.accept(large(0, 2), large(2, 2), large(4, 2), large(9, 1))
    for base_offset in (10, 12, 20, 22):
        bench.append(base_offset)
    [progress], _ = bench.copy.take_progress()
    assert progress.runs == (Run(0, 10, 4), Run(4, 20, 2), Run(9, 22, 1))
    assert progress.record_count == 7


def test_small_batches_that_come_together_leave_as_one() -> None:
    bench = Bench()
    assert bench.accept(*(handmade.data(3 * i, 3) for i in range(10))) == 0
    [(header, found)] = bench.queued()
    assert header.record_count == 30
    assert bench.numbers() == [list(range(30))]
    assert [record.timestamp for record in found] == [handmade.TIME] * 30
    bench.append(7)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset, position.target_offset) == ((Run(0, 7, 30),), 29, 36)


def test_joining_keeps_order_with_large_ones_and_maps_gaps() -> None:
    bench = Bench()
    bench.accept(handmade.data(0, 2), handmade.data(5, 2), large(7), handmade.data(8), handmade.data(9))
    assert bench.numbers() == [[0, 1, 5, 6], [7], [8, 9]]
    for base_offset in (0, 4, 5):
        bench.append(base_offset)
    [progress], position = bench.copy.take_progress()
    assert progress.runs == (Run(0, 0, 2), Run(5, 2, 5))
    assert position.offset == 9


def test_joined_batches_stay_within_what_the_target_takes() -> None:
    bench = Bench(max_batch_bytes=2_000)
    bench.accept(*(handmade.data(i) for i in range(400)))
    assert [number for found in bench.numbers() for number in found] == list(range(400))
    assert all(len(data) <= 2_000 for data, *_ in bench.target.queue)


def test_aborted_records_and_markers_are_passed_over_once_all_before_them_is_appended() -> None:
    bench = Bench()
    aborted = large(3, 2, attributes=handmade.TRANSACTIONAL, producer_id=9, epoch=0, sequence=0)
    bench.accept(large(0, 3), aborted, handmade.marker(5, 9, commit=False), aborted=[(9, 3)])
    assert bench.numbers() == [[0, 1, 2]]
    assert (bench.point.offset, bench.copy.has_moved) == (6, False)
    bench.append(0)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, progress.last_offset, position.offset) == ((Run(0, 0, 3),), 5, 5)


def small_transaction(offset: int) -> bytes:
    """One record, and the marker that commits it."""
    data = handmade.data(offset, attributes=handmade.TRANSACTIONAL, producer_id=9, epoch=0, sequence=0)
    return data + handmade.marker(offset + 1, 9, commit=True)


def test_small_transactions_leave_together() -> None:
    bench = Bench()
    assert bench.accept(*(small_transaction(2 * i) for i in range(1_000))) == 0
    assert len(bench.target.queue) < 5
    assert [number for found in bench.numbers() for number in found] == list(range(0, 2_000, 2))
    assert (bench.point.offset, bench.copy.has_moved) == (2_000, False)
    appended = 0
    for found in bench.numbers():
        bench.append(100 + appended)
        appended += len(found)
        assert bench.copy.take_progress()[1].offset == 2 * appended - 1, "its last record and the marker behind it"
    assert bench.copy.has_queued is False


def test_small_batches_are_joined_over_what_is_skipped_and_mapped() -> None:
    bench = Bench()
    aborted = handmade.data(4, 2, attributes=handmade.TRANSACTIONAL, producer_id=8, epoch=0, sequence=0)
    bench.accept(
        handmade.data(0, 2), handmade.batch(2, [], last_delta=1), aborted, handmade.marker(6, 8, commit=False),
        handmade.data(7, 3), handmade.marker(10, 9, commit=True), aborted=[(8, 4)],
    )  # fmt: skip
    assert bench.numbers() == [[0, 1, 7, 8, 9]]
    assert not bench.copy.has_moved
    bench.append(20)
    [progress], position = bench.copy.take_progress()
    assert progress.runs == (Run(0, 20, 2), Run(7, 22, 3))
    assert (position.offset, position.target_offset) == (10, 24)


def test_a_small_batch_alone_leaves_as_it_is_though_something_behind_it_was_skipped() -> None:
    bench = Bench()
    assert bench.accept(small_transaction(0)) == 1
    assert (bench.numbers(), bench.point.offset) == ([[0]], 2)
    bench.append(20)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset, bench.released) == ((Run(0, 20, 1),), 1, 1)


def test_old_messages_do_not_overtake_small_batches() -> None:
    bench = Bench()
    bench.accept(handmade.data(0), handmade.data(1), handmade.old_format(1, 2, 2))
    assert [number for found in bench.numbers() for number in found] == [0, 1, 2, 3]


def test_a_response_with_nothing_to_copy_moves_the_position() -> None:
    bench = Bench()
    assert bench.accept(handmade.marker(0, 9, commit=True), handmade.batch(1, [], last_delta=4)) == 0
    assert (bench.copy.has_moved, bench.copy.has_queued) == (True, False)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset) == ((), 5)


def test_holes_are_closed_and_mapped() -> None:
    bench = Bench()
    kept = [handmade.record(b"v11", 1), handmade.record(b"v12", 2), handmade.record(b"v16", 6)]
    assert bench.accept(handmade.batch(10, kept, last_delta=9)) == 0
    [(header, found)] = bench.queued()
    assert header.can_be_copied
    assert [record.value for record in found] == [b"v11", b"v12", b"v16"]
    bench.append(50)
    [progress], position = bench.copy.take_progress()
    assert progress.runs == (Run(11, 50, 2), Run(16, 52, 1))
    assert position.offset == 19


def test_a_start_in_the_middle_of_a_batch_leaves_out_what_was_done() -> None:
    bench = Bench(start=12)
    bench.accept(large(0, 10), large(10, 5))
    assert bench.numbers() == [[12, 13, 14]]
    bench.append(0)
    assert bench.copy.take_progress()[0][0].runs == (Run(12, 0, 3),)


def test_a_start_in_the_hole_at_the_end_of_a_batch_moves_past_it() -> None:
    bench = Bench(start=18)
    bench.accept(handmade.batch(10, [handmade.record(b"v10")], last_delta=9))
    assert (bench.numbers(), bench.point.offset, bench.copy.has_moved) == ([], 20, True)


def test_times_that_the_broker_set_become_times_of_the_records() -> None:
    bench = Bench()
    bench.accept(handmade.data(0, 3, attributes=handmade.LOG_APPEND_TIME, max_time=handmade.TIME + 9))
    [(header, found)] = bench.queued()
    assert not header.attributes & batches.LOG_APPEND_TIME
    assert {record.timestamp for record in found} == {handmade.TIME + 9}


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_built_anew(magic: int) -> None:
    bench = Bench(start=2)
    bench.accept(handmade.old_format(magic, 0, 5))
    assert [number for found in bench.numbers() for number in found] == [2, 3, 4]
    for index in range(len(bench.target.queue)):
        bench.append(index)
    assert bench.copy.take_progress()[1].offset == 4


def test_a_batch_that_fails_its_checksum_stops_the_partition_and_is_named() -> None:
    bench = Bench()
    damaged = bytearray(large(3))
    damaged[-1] ^= 1
    bench.accept(large(0, 3), bytes(damaged), large(4))
    assert "offset 3 fails its checksum" in str(bench.copy.failure)
    assert bench.numbers() == [[0, 1, 2]]
    assert bench.point.offset == 3


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_that_fails_its_checksum_stops_the_partition_and_is_named(magic: int) -> None:
    bench = Bench()
    damaged = bytearray(handmade.old_format(magic, 0, 1))
    damaged[-1] ^= 1
    bench.accept(bytes(damaged))
    assert "offset 0 fails its checksum" in str(bench.copy.failure)
    assert bench.numbers() == []


def test_a_cut_off_batch_is_read_again() -> None:
    bench = Bench()
    following = large(3)
    bench.accept(large(0, 3), following[:-1], end=4)
    assert (bench.numbers(), bench.point.offset, bench.copy.is_behind) == ([[0, 1, 2]], 3, True)
    bench.accept(following, end=4)
    assert (bench.numbers(), bench.copy.is_behind) == ([[0, 1, 2], [3]], False)


def test_a_batch_larger_than_the_target_takes_is_sent_in_parts() -> None:
    bench = Bench(max_batch_bytes=3 * LARGE)
    bench.accept(large(0, 7))
    assert [number for found in bench.numbers() for number in found] == list(range(7))
    assert all(len(data) <= 3 * LARGE for data, *_ in bench.target.queue)
    count = len(bench.target.queue)
    sizes = [len(found) for found in bench.numbers()]
    for index in range(count):
        bench.append(sum(sizes[:index]))
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset) == ((Run(0, 0, 7),), 6)


def test_a_record_larger_than_the_target_takes_is_named_with_what_to_change() -> None:
    bench = Bench(max_batch_bytes=LARGE)
    bench.accept(handmade.data(0), large(1))
    assert "offset 1" in str(bench.copy.failure)
    assert "max.message.bytes of primary.orders" in str(bench.copy.failure)
    assert bench.numbers() == [[0]]


def test_batches_before_the_position_are_neither_copied_again_nor_move_it_back() -> None:
    bench = Bench(start=7)
    bench.accept(large(0, 3), handmade.data(3, 4))
    assert (bench.numbers(), bench.point.offset, bench.copy.has_moved) == ([], 7, False)
    bench.accept(large(3, 4), large(7, 2))
    assert (bench.numbers(), bench.point.offset) == ([[7, 8]], 9)
    bench.append(40)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset, position.target_offset) == ((Run(7, 40, 2),), 8, 41)


# -- what cannot be read -----------------------------------------------------------------------------------------------


def test_names_of_headers_that_are_no_utf8_do_not_keep_small_batches_from_being_joined() -> None:
    bench = Bench()
    bench.accept(handmade.data(0, 2), handmade.foreign_header(2, 2))
    assert bench.copy.failure is None
    [(_, found)] = bench.queued()
    assert [record.headers[0][0].encode("utf-8", "surrogateescape") for record in found[2:]] == [
        handmade.FOREIGN_NAME, handmade.FOREIGN_NAME,
    ]  # fmt: skip


def test_small_batches_that_cannot_be_read_are_left_to_the_targets_judgement() -> None:
    bench = Bench()
    assert bench.accept(*(handmade.undecodable(offset) for offset in range(3)), large(3)) == 4
    assert bench.copy.failure is None
    assert [batches.read_header(memoryview(data)).base_offset for data, *_ in bench.target.queue] == [0, 1, 2, 3]


def test_a_batch_that_must_be_read_and_cannot_stops_the_partition_and_is_named() -> None:
    bench = Bench()
    bench.accept(large(0, 3), handmade.undecodable(3, last_delta=4), large(8))
    assert bench.copy.failure is not None
    assert bench.copy.failure.source == SOURCE
    assert bench.copy.failure.reason.startswith("the batch at offset 3 cannot be read: ")
    assert bench.numbers() == [[0, 1, 2]]
    assert bench.point.offset == 3
