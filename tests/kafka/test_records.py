from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

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
