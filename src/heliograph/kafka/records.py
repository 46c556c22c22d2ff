"""Records inside batches, decoded and encoded where a batch cannot be copied as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from aiokafka import codec
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatch

from heliograph.errors import MalformedRecord
from heliograph.kafka import batches, plain_records
from heliograph.kafka.batches import COMPRESSION_MASK, HEADER_SIZE, NOBODY, BatchHeader, ProducerStamp, read_header

_UNLIMITED = 1 << 31
_ZSTD = 4
_WORTH_PACKING = 4096  # bytes
_UNPACKERS = {1: codec.gzip_decode, 2: codec.snappy_decode, 3: codec.lz4_decode, 4: codec.zstd_decode}


class Record(NamedTuple):
    """One record as its producer wrote it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


def decode(magic: int, batch: memoryview) -> Iterator[Record]:
    """The records of one batch. Where the broker set the time of the whole batch, each record carries it."""
    done = 0
    try:
        opened = DefaultRecordBatch(bytes(batch)) if magic >= 2 else LegacyRecordBatch(bytes(batch), magic)
        for record in opened:
            timestamp = -1 if record.timestamp is None else record.timestamp
            yield Record(record.offset, timestamp, record.key, record.value, record.headers)
            done += 1
    except UnicodeDecodeError:
        yield from islice(_decode_plainly(batch), done, None)
    except Exception as error:  # each codec has errors of its own
        raise _unreadable(batch, error) from error


def _decode_plainly(batch: memoryview) -> Iterator[Record]:
    section = content(batch)
    try:
        for fields in plain_records.read(read_header(batch), section):
            yield Record(*fields)
    except IndexError as error:
        raise _unreadable(batch, error) from error


def _unreadable(batch: memoryview, error: Exception) -> MalformedRecord:
    offset = int.from_bytes(batch[:8], "big")
    return MalformedRecord(f"the batch at offset {offset} cannot be read: {error or type(error).__name__}")


def header_of(magic: int, batch: memoryview) -> BatchHeader:
    """The header of a batch of any format; old ones have none, but messages inside them tell their offsets."""
    if magic >= 2:
        return read_header(batch)
    last = int.from_bytes(batch[:8], "big")
    inside = list(decode(magic, batch))
    first = inside[0].offset if inside else last
    times = [record.timestamp for record in inside] or [-1]
    length = len(batch) - batches.PREFIX_SIZE
    return BatchHeader(first, length, -1, magic, 0, 0, last - first, times[0], max(times), -1, -1, -1, len(inside))


def content(batch: memoryview) -> bytes:
    """The records section of a format 2 batch as bytes, decompressed."""
    section = bytes(batch[HEADER_SIZE:])
    unpack = _UNPACKERS.get(read_header(batch).attributes & COMPRESSION_MASK)
    try:
        return section if unpack is None else bytes(unpack(section))
    except Exception as error:  # each codec has errors of its own
        raise _unreadable(batch, error) from error


def is_intact_old(magic: int, batch: memoryview) -> bool:
    """Whether a message set of format 0 or 1 still has the checksum that its producer gave it."""
    return bool(LegacyRecordBatch(bytes(batch), magic).validate_crc())


def encode(
    records: Iterable[Record], stamp: ProducerStamp = NOBODY, sequence: int = -1, compression: int = 0
) -> bytearray:
    """One batch of the given records, in order, with offsets from 0."""
    found = list(records)
    builder = _builder(stamp, sequence, compression)
    try:
        for offset, record in enumerate(found):
            builder.append(offset, record.timestamp, record.key, record.value, list(record.headers))
    except UnicodeEncodeError:
        apart = ((offset, *record[1:]) for offset, record in enumerate(found))
        return plain_records.write(apart, stamp, sequence, compression)
    return bytearray(builder.build())


def encode_own(records: Sequence[Record]) -> bytearray:
    """One batch of records of our own, compressed where they are large: an entry of the ledger must fit in a batch."""
    plain = encode(records)
    return plain if len(plain) < _WORTH_PACKING else encode(records, compression=_ZSTD)


def encode_apart(records: Sequence[Record]) -> bytearray:
    """One batch in which records keep their offsets, so that there may be holes between them."""
    builder = _builder(NOBODY, -1, 0)
    base = records[0].offset
    try:
        for record in records:
            builder.append(record.offset - base, record.timestamp, record.key, record.value, list(record.headers))
        data = bytearray(builder.build())
    except UnicodeEncodeError:
        data = plain_records.write(((record.offset - base, *record[1:]) for record in records), NOBODY, -1, 0)
    data[:8] = base.to_bytes(8, "big")  # not part of what the checksum covers
    return data


def join(pieces: Sequence[memoryview], compression: int) -> bytearray:
    """One batch of the records of several; without a `Record` in between, which takes a third of the time."""
    builder = _builder(NOBODY, -1, compression)
    append = builder.append
    offset = 0
    try:
        for batch in pieces:
            for record in DefaultRecordBatch(bytes(batch)):
                append(offset, record.timestamp, record.key, record.value, record.headers)
                offset += 1
    except UnicodeDecodeError:
        return encode((record for batch in pieces for record in decode(2, batch)), compression=compression)
    except Exception as error:  # each codec has errors of its own
        raise _unreadable(batch, error) from error
    return bytearray(builder.build())


def _builder(stamp: ProducerStamp, sequence: int, compression: int) -> Any:
    return DefaultRecordBatchBuilder(
        magic=2,
        compression_type=compression,
        is_transactional=int(stamp.is_transactional),
        producer_id=stamp.producer_id,
        producer_epoch=stamp.epoch,
        base_sequence=sequence,
        batch_size=_UNLIMITED,
    )
