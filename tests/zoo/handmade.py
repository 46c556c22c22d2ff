"""Batches put together field by field, without any of the code that is under test."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from crc32c import crc32c
from kafka.record.legacy_records import LegacyRecordBatchBuilder

LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x08, 0x10, 0x20, 0x40
FOREIGN_NAME = b"gr\xf6\xdfe"  # Latin-1
TIME = 1_700_000_000_000


def record(
    value: bytes,
    offset_delta: int = 0,
    key: bytes | None = None,
    time_delta: int = 0,
    headers: Sequence[tuple[bytes, bytes | None]] = (),
) -> bytes:
    """One record of message format 2."""
    content = b"\0" + _varint(time_delta) + _varint(offset_delta) + _sized(key) + _sized(value) + _varint(len(headers))
    content += b"".join(_sized(part) for header in headers for part in header)
    return _varint(len(content)) + content


def batch(
    base_offset: int,
    records: Sequence[bytes],
    *,
    last_delta: int | None = None,
    attributes: int = 0,
    producer_id: int = -1,
    epoch: int = -1,
    sequence: int = -1,
    max_time: int = TIME,
    leader_epoch: int = 7,
) -> bytes:
    """One batch of message format 2, not compressed."""
    delta = len(records) - 1 if last_delta is None else last_delta
    numbers = (attributes, delta, TIME, max_time, producer_id, epoch, sequence, len(records))
    content = struct.pack(">hiqqqhii", *numbers) + b"".join(records)
    return struct.pack(">qiibI", base_offset, len(content) + 9, leader_epoch, 2, crc32c(content)) + content


def data(base_offset: int, count: int = 1, **fields: int) -> bytes:
    """A batch of so many records, each told by its offset."""
    return batch(base_offset, [record(b"v%d" % (base_offset + i), i) for i in range(count)], **fields)


def foreign_header(base_offset: int, count: int = 1, **fields: int) -> bytes:
    """A batch of records with a header each whose name is no UTF-8, as clients that do not look write it."""
    headers = [(FOREIGN_NAME, b"x"), (b"plain", None)]
    return batch(base_offset, [record(b"v%d" % (base_offset + i), i, headers=headers) for i in range(count)], **fields)


def undecodable(base_offset: int, count: int = 1, compression: int = 1, **fields: int) -> bytes:
    """A batch that says it is compressed and is not; its checksum is right."""
    return data(base_offset, count, attributes=compression, **fields)


def marker(base_offset: int, producer_id: int, *, commit: bool) -> bytes:
    """The control batch that ends a transaction."""
    key, value = struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, 1)
    attributes = TRANSACTIONAL | CONTROL
    return batch(base_offset, [record(value, key=key)], attributes=attributes, producer_id=producer_id, epoch=0)


def old_format(magic: int, base_offset: int, count: int, compression: int = 0) -> bytes:
    """A message set of format 0 or 1 as the Kafka client library writes it, for producers that did."""
    return _old_messages(magic, base_offset, range(base_offset, base_offset + count), compression)


def old_log(magic: int, base_offset: int, count: int, compression: int = 0) -> bytes:
    """The same as brokers keep it: compressed messages are inside one that has the offset of the last of them."""
    if not compression:
        return old_format(magic, base_offset, count)
    first = 0 if magic else base_offset  # in format 1 offsets count from the beginning of the set
    content = _old_messages(magic, first, range(base_offset, base_offset + count), compression)
    return struct.pack(">q", base_offset + count - 1) + content[8:]


def _old_messages(magic: int, first: int, numbers: range, compression: int) -> bytes:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=compression, batch_size=1 << 20)
    for offset, number in enumerate(numbers, first):
        builder.append(offset, timestamp=TIME + number, key=None, value=b"v%d" % number)
    return bytes(builder.build())


def _sized(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content


def _varint(number: int) -> bytes:
    left = number << 1 ^ number >> 63
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)
