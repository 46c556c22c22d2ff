from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from heliograph.errors import MalformedRecord
from heliograph.kafka import batches, records
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.records import Record
from tests.zoo import handmade
from tests.zoo.odd_records import CODECS, large_record, numbered, odd_records

STAMP = ProducerStamp(12, 3, is_transactional=True)
PAYLOAD = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(), PAYLOAD), max_size=3)
RECORDS = st.lists(
    st.builds(Record, st.just(0), st.integers(0, 2**42), PAYLOAD, PAYLOAD, HEADERS), min_size=1, max_size=10
)


def contents(found: Sequence[Record]) -> list[tuple[object, ...]]:
    return [(record.timestamp, record.key, record.value, list(record.headers)) for record in found]


def foreign_contents(data: bytes | bytearray) -> list[tuple[object, ...]]:
    return [(record.timestamp, record.key, record.value, list(record.headers)) for record in DefaultRecordBatch(data)]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_other_clients_read_what_we_encode_with_every_codec(codec: int) -> None:
    written = [*odd_records(), *numbered(300), large_record()]
    data = records.encode(written, STAMP, 44, codec)
    assert foreign_contents(data) == contents(written)
    assert DefaultRecordBatch(data).compression_type == codec


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_we_read_what_other_clients_encode_with_every_codec(codec: int) -> None:
    written = odd_records()
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, 1 << 20)
    for record in written:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))
    decoded = list(records.decode(2, memoryview(bytes(builder.build()))))
    assert contents(decoded) == contents(written)
    assert [record.offset for record in decoded] == [record.offset for record in written]


@given(RECORDS, st.sampled_from(list(CODECS.values())))
def test_whatever_is_encoded_is_decoded_the_same(written: list[Record], codec: int) -> None:
    data = records.encode(written, STAMP, 0, codec)
    decoded = list(records.decode(2, memoryview(data)))
    assert contents(decoded) == contents(written)
    assert [record.offset for record in decoded] == list(range(len(written)))


def test_an_encoded_batch_carries_its_writer_and_no_holes() -> None:
    data = memoryview(records.encode(numbered(10), STAMP, 44))
    header = batches.read_header(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 3, 44)
    assert header.is_transactional
    assert header.can_be_copied
    assert batches.is_intact(data, header)
    assert (header.record_count, header.base_offset, header.last_offset) == (10, 0, 9)
    times = [record.timestamp for record in numbered(10)]
    assert (header.first_timestamp, header.max_timestamp) == (times[0], max(times))


def test_records_keep_their_offsets_across_holes() -> None:
    kept = [handmade.record(b"a", 1), handmade.record(b"b", 6)]
    decoded = list(records.decode(2, memoryview(handmade.batch(100, kept, last_delta=9))))
    assert [(record.offset, record.value) for record in decoded] == [(101, b"a"), (106, b"b")]


def test_the_time_that_a_broker_set_is_the_time_of_each_record() -> None:
    data = handmade.data(0, 3, attributes=handmade.LOG_APPEND_TIME, max_time=handmade.TIME + 500)
    assert {record.timestamp for record in records.decode(2, memoryview(data))} == {handmade.TIME + 500}


@pytest.mark.parametrize(("magic", "compression"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_old_message_formats_are_decoded(magic: int, compression: int) -> None:
    data = memoryview(handmade.old_format(magic, 0, 5, compression))
    decoded = [record for found, piece in batches.split(data) for record in records.decode(found, piece)]
    assert [(record.offset, record.value) for record in decoded] == [(i, b"v%d" % i) for i in range(5)]
    assert [record.timestamp for record in decoded] == ([handmade.TIME + i for i in range(5)] if magic else [-1] * 5)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_joined_batches_hold_all_their_records_in_order(codec: int) -> None:
    parts = [odd_records(), numbered(3), numbered(1, 3)]
    pieces = [memoryview(records.encode(part, compression=codec)) for part in parts]
    data = records.join(pieces, codec)
    assert foreign_contents(data) == [content for part in parts for content in contents(part)]
    header = batches.read_header(memoryview(data))
    assert header.can_be_copied
    assert (header.record_count, header.attributes & 7) == (17, codec)


@pytest.mark.parametrize(("magic", "compression"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_headers_of_old_formats_tell_their_offsets(magic: int, compression: int) -> None:
    """Without compression each message stands for itself."""
    data = memoryview(handmade.old_log(magic, 100, 5, compression))
    headers = [records.header_of(found, piece) for found, piece in batches.split(data)]
    spans = [(header.base_offset, header.last_offset, header.record_count) for header in headers]
    assert spans == ([(100, 104, 5)] if compression else [(offset, offset, 1) for offset in range(100, 105)])
    assert not any(header.is_control or header.is_transactional for header in headers)


def test_headers_of_the_new_format_are_read_as_they_are() -> None:
    data = memoryview(handmade.data(10, 3, last_delta=8))
    assert records.header_of(2, data) == batches.read_header(data)


# -- what no stock codec reads -----------------------------------------------------------------------------------------

FOREIGN = [(handmade.FOREIGN_NAME.decode("utf-8", "surrogateescape"), b"x"), ("plain", None)]


def section_of(data: bytes | bytearray) -> bytes:
    return bytes(data[batches.HEADER_SIZE :])


def test_names_of_headers_that_are_no_utf8_are_carried_through() -> None:
    data = handmade.foreign_header(10, 3)
    decoded = list(records.decode(2, memoryview(data)))
    assert [(record.offset, record.value, list(record.headers)) for record in decoded] == [
        (10 + i, b"v%d" % (10 + i), FOREIGN) for i in range(3)
    ]
    assert section_of(records.encode(decoded)) == section_of(data)
    assert section_of(records.encode_apart(decoded)) == section_of(data)


def test_records_before_a_foreign_name_come_once() -> None:
    first, second = handmade.record(b"a"), handmade.record(b"b", 1, headers=[(b"\xff", b"")])
    decoded = list(records.decode(2, memoryview(handmade.batch(0, [first, second]))))
    assert [record.value for record in decoded] == [b"a", b"b"]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_batches_with_foreign_names_are_joined_and_stamped_as_others_are(codec: int) -> None:
    pieces = [memoryview(records.encode(numbered(2), compression=codec)), memoryview(handmade.foreign_header(0, 2))]
    joined = memoryview(records.join(pieces, codec))
    header = batches.read_header(joined)
    assert batches.is_intact(joined, header)
    assert (header.record_count, header.attributes & 7, header.can_be_copied) == (4, codec, True)
    assert [list(record.headers) for record in records.decode(2, joined)][2:] == [FOREIGN, FOREIGN]
    stamped = memoryview(records.encode(records.decode(2, joined), STAMP, 44, codec))
    header = batches.read_header(stamped)
    assert batches.is_intact(stamped, header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 3, 44)
    assert header.is_transactional


def test_times_that_the_broker_set_count_for_foreign_names_too() -> None:
    data = handmade.foreign_header(0, 2, attributes=handmade.LOG_APPEND_TIME, max_time=handmade.TIME + 500)
    assert {record.timestamp for record in records.decode(2, memoryview(data))} == {handmade.TIME + 500}


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_what_cannot_be_unpacked_is_told_with_its_offset(codec: int) -> None:
    data = memoryview(handmade.undecodable(70, 2, codec))
    for attempt in (lambda: list(records.decode(2, data)), lambda: records.content(data)):
        with pytest.raises(MalformedRecord, match="the batch at offset 70 cannot be read"):
            attempt()
    with pytest.raises(MalformedRecord, match="the batch at offset 70 cannot be read"):
        records.join([memoryview(handmade.data(0)), data], codec)


def test_an_old_message_that_cannot_be_unpacked_is_told_with_its_offset() -> None:
    damaged = bytearray(handmade.old_log(1, 30, 5, compression=1))
    damaged[40:60] = bytes(20)
    with pytest.raises(MalformedRecord, match="the batch at offset 34 cannot be read"):
        records.header_of(1, memoryview(damaged))


def test_a_batch_whose_records_end_too_early_is_told() -> None:
    data = handmade.batch(5, [handmade.record(b"a", headers=[(b"\xff", b"long enough")])[:-4]])
    with pytest.raises(MalformedRecord, match="the batch at offset 5 cannot be read"):
        list(records.decode(2, memoryview(data)))
