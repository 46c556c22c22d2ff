from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from heliograph.errors import MalformedRecord
from heliograph.kafka import batches
from heliograph.kafka.batches import BatchHeader, ProducerStamp
from tests.zoo import handmade

# One record (key "k", value "v", header h=1) at offset 5, written by kafka-python's producer.
GOLDEN = bytes.fromhex(
    "0000000000000005" "0000003e" "00000003" "02" "675a95fd" "0000" "00000000" "0000018bcfe56800" "0000018bcfe56800"
    "ffffffffffffffff" "ffff" "ffffffff" "00000001" "18000000026b02760202680231"
)  # fmt: skip


def header_of(data: bytes | bytearray) -> BatchHeader:
    return batches.read_header(memoryview(data))


def test_a_header_gives_every_field() -> None:
    header = header_of(GOLDEN)
    assert header == BatchHeader(5, 62, 3, 2, 0x675A95FD, 0, 0, handmade.TIME, handmade.TIME, -1, -1, -1, 1)
    assert batches.is_intact(memoryview(GOLDEN), header)


@pytest.mark.parametrize("position", range(21, len(GOLDEN)))
def test_a_flipped_bit_anywhere_in_the_content_breaks_the_checksum(position: int) -> None:
    damaged = bytearray(GOLDEN)
    damaged[position] ^= 0x10
    assert not batches.is_intact(memoryview(damaged), header_of(damaged))


@pytest.mark.parametrize(
    ("data", "can_be_copied"),
    [
        (handmade.data(0, 3), True),
        (handmade.data(0, 3, attributes=handmade.TRANSACTIONAL, producer_id=1, epoch=0, sequence=0), True),
        (handmade.data(0, 3, last_delta=4), False),
        (handmade.data(0, 3, attributes=handmade.LOG_APPEND_TIME), False),
        (handmade.data(0, 3, attributes=handmade.DELETE_HORIZON), False),
    ],
    ids=["plain", "transactional", "holes", "broker's time", "delete horizon"],
)
def test_only_batches_that_a_broker_takes_can_be_copied(data: bytes, can_be_copied: bool) -> None:
    assert header_of(data).can_be_copied is can_be_copied


def test_the_last_offset_counts_records_that_compaction_removed() -> None:
    assert header_of(handmade.data(10, 3, last_delta=8)).last_offset == 18


def test_who_has_written_is_found_without_looking_at_anything_else() -> None:
    pieces = handmade.data(0, producer_id=5), handmade.data(3, producer_id=6), handmade.old_format(1, 6, 2)
    last = handmade.data(9, producer_id=7)
    assert batches.producer_ids(memoryview(b"".join(pieces) + last)) == {5, 6, 7}
    assert batches.producer_ids(memoryview(b"".join(pieces) + last[:-1])) == {5, 6}
    assert batches.producer_ids(memoryview(pieces[0] + bytes(100))) == {5}


def test_split_gives_each_complete_batch_with_its_format() -> None:
    pieces = [handmade.data(0, 3), handmade.old_format(1, 3, 1), handmade.old_format(0, 4, 1), handmade.data(5)]
    found = list(batches.split(memoryview(b"".join(pieces))))
    assert [(magic, bytes(batch)) for magic, batch in found] == list(zip([2, 1, 0, 2], pieces, strict=True))


@given(st.lists(st.integers(1, 5), max_size=4), st.data())
def test_split_leaves_out_a_batch_that_was_cut_off(counts: list[int], drawn: st.DataObject) -> None:
    pieces = [handmade.data(10 * i, count) for i, count in enumerate(counts)]
    log = b"".join(pieces)
    cut = drawn.draw(st.integers(0, len(log)))
    found = [bytes(batch) for _, batch in batches.split(memoryview(log[:cut]))]
    complete = [piece for i, piece in enumerate(pieces) if sum(map(len, pieces[: i + 1])) <= cut]
    assert found == complete


@pytest.mark.parametrize("length", [-(2**31), -13, -12, -1, 0, 13, 48])
def test_a_length_that_no_batch_has_is_told_with_its_offset(length: int) -> None:
    damaged = bytearray(handmade.data(20, 3))
    damaged[8:12] = length.to_bytes(4, "big", signed=True)
    found = batches.split(memoryview(handmade.data(10) + damaged))
    assert next(found)[0] == 2
    with pytest.raises(MalformedRecord, match=f"the batch at offset 20 says that it has {length} bytes"):
        next(found)


@pytest.mark.parametrize("magic", [0, 1])
def test_a_length_that_no_old_message_has_is_told(magic: int) -> None:
    damaged = bytearray(handmade.old_format(magic, 7, 1))
    damaged[8:12] = bytes(4)
    with pytest.raises(MalformedRecord, match="the batch at offset 7 says that it has 0 bytes"):
        list(batches.split(memoryview(damaged)))


@pytest.mark.parametrize("magic", [0, 1])
def test_the_smallest_old_messages_are_taken(magic: int) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 20)
    builder.append(0, timestamp=0, key=None, value=None)
    assert len(list(batches.split(memoryview(bytes(builder.build()))))) == 1


@pytest.mark.parametrize("stamp", [ProducerStamp(2**40, 300, True), ProducerStamp(-1, -1, False)])
@pytest.mark.parametrize("attributes", [0, 4, handmade.TRANSACTIONAL | 1])
@pytest.mark.parametrize("count", [5, 5_000], ids=["small", "large"])
def test_restamp_changes_the_writer_and_nothing_else(stamp: ProducerStamp, attributes: int, count: int) -> None:
    original = handmade.data(
        1000, count, attributes=attributes, producer_id=77, epoch=1, sequence=9, max_time=handmade.TIME + 4
    )
    before = header_of(original)
    data = bytearray(original)
    batches.restamp(memoryview(data), stamp, 12345)
    after = header_of(data)
    assert batches.is_intact(memoryview(data), after)
    assert data[batches.HEADER_SIZE :] == original[batches.HEADER_SIZE :]
    assert after == before._replace(
        base_offset=0,
        leader_epoch=-1,
        crc=after.crc,
        attributes=attributes & ~handmade.TRANSACTIONAL | (handmade.TRANSACTIONAL if stamp.is_transactional else 0),
        producer_id=stamp.producer_id,
        producer_epoch=stamp.epoch,
        base_sequence=12345,
    )


def test_a_large_batch_that_is_damaged_while_it_waits_does_not_get_a_checksum_that_hides_it() -> None:
    data = bytearray(handmade.data(1000, 5_000))
    data[-9] ^= 1
    batches.restamp(memoryview(data), ProducerStamp(5, 1, True), 0)
    assert not batches.is_intact(memoryview(data), header_of(data))


def test_other_clients_read_a_restamped_batch() -> None:
    data = bytearray(handmade.data(1000, 5))
    batches.restamp(memoryview(data), ProducerStamp(5, 1, True), 0)
    opened = DefaultRecordBatch(data)
    assert opened.validate_crc()
    assert [record.value for record in opened] == [b"v%d" % offset for offset in range(1000, 1005)]


@pytest.mark.parametrize("commit", [False, True])
def test_a_marker_tells_commit_from_abort(commit: bool) -> None:
    data = handmade.marker(50, 7, commit=commit)
    assert header_of(data).is_control
    assert batches.control_type(memoryview(data)) == int(commit)


def test_a_marker_is_read_behind_numbers_of_several_bytes() -> None:
    key = bytes.fromhex("00000001")
    padded = handmade.record(b"x" * 300, offset_delta=200, key=key, time_delta=100_000)
    assert batches.control_type(memoryview(handmade.batch(0, [padded], attributes=handmade.CONTROL))) == 1
