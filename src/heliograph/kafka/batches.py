"""Record batches as bytes: what their headers say, and how a batch becomes one of ours without being decoded.

Layout of a batch of message format 2 (all numbers big-endian): base offset 8, length 4, leader epoch 4, magic 1,
CRC-32C 4, attributes 2, last offset delta 4, first timestamp 8, max timestamp 8, producer id 8, producer epoch 2,
base sequence 4, record count 4, records. The checksum covers everything from the attributes on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from crc32c import crc32c

from heliograph.errors import MalformedRecord
from heliograph.kafka.checksums import after_change

HEADER_SIZE = 61
PREFIX_SIZE = 12  # of all formats: the offset, and the length of what follows
_BASE_OFFSET = struct.Struct(">q")
_HEADER = struct.Struct(">qiibIhiqqqhii")
_LEAST_LENGTH = HEADER_SIZE - PREFIX_SIZE
_LEAST_LENGTHS = {0: 14, 1: 22}  # of messages of old formats, without key and value
_PREFIX = struct.Struct(">qiib")  # up to and with the magic
_ATTRIBUTES_AT = 21
_CRC = struct.Struct(">I")
_CRC_AT = 17
_PRODUCER = struct.Struct(">qhi")
_PRODUCER_AT = 43
_ATTRIBUTES = struct.Struct(">h")
_COUNT = struct.Struct(">i")
_COUNT_AT = 57
_WORTH_A_LOOK_UP = 32 * 1024  # bytes: the checksum of a smaller batch is sooner summed than derived
_TIME = struct.Struct(">q")
_NEWEST_TIME_AT = 35
_LARGEST_SEQUENCE = 0x7FFFFFFF

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40


class BatchHeader(NamedTuple):
    """The fields of a batch's header."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    first_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record that the batch once had."""
        return self.base_offset + self.last_offset_delta

    @property
    def is_control(self) -> bool:
        """Whether the batch is a transaction marker."""
        return bool(self.attributes & CONTROL)

    @property
    def is_transactional(self) -> bool:
        """Whether the batch belongs to a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def can_be_copied(self) -> bool:
        """Whether a broker takes the batch as it is: no holes, times set by the producer, nothing it would refuse."""
        return self.record_count == self.last_offset_delta + 1 and not self.attributes & (
            LOG_APPEND_TIME | DELETE_HORIZON
        )


def read_header(batch: memoryview) -> BatchHeader:
    """The header of a format 2 batch."""
    return BatchHeader._make(_HEADER.unpack_from(batch))


def split(records: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The complete batches in a fetched piece of log, each with its magic; a cut-off last one is left out."""
    position, end = 0, len(records)
    while position + _PREFIX.size <= end:
        offset, length, _, magic = _PREFIX.unpack_from(records, position)
        if length < _LEAST_LENGTHS.get(magic, _LEAST_LENGTH):
            raise MalformedRecord(f"the batch at offset {offset} says that it has {length} bytes, which none has")
        following = position + PREFIX_SIZE + length
        if following > end:
            return
        yield magic, records[position:following]
        position = following


def producer_ids(records: memoryview) -> set[int]:
    """Who has written the batches in a fetched piece of log, as far as it can be read."""
    found: set[int] = set()
    with suppress(MalformedRecord):
        for magic, batch in split(records):
            if magic >= 2:
                found.add(_PRODUCER.unpack_from(batch, _PRODUCER_AT)[0])
    return found


def is_intact(batch: memoryview, header: BatchHeader) -> bool:
    """Whether the content still has the checksum that its producer gave it."""
    return bool(crc32c(batch[_ATTRIBUTES_AT:]) == header.crc)


@dataclass(frozen=True)
class ProducerStamp:
    """Who writes a batch: the broker checks it to keep retries and zombies out."""

    producer_id: int
    epoch: int
    is_transactional: bool


NOBODY = ProducerStamp(-1, -1, is_transactional=False)


def restamp(batch: memoryview, stamp: ProducerStamp, sequence: int) -> None:
    """Make a batch one of ours, in place: offset, epoch, producer, sequence, checksum; records untouched."""
    earlier = bytes(batch[_ATTRIBUTES_AT:_COUNT_AT]) if len(batch) >= _WORTH_A_LOOK_UP else b""
    [before] = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)
    attributes = before & ~TRANSACTIONAL | (TRANSACTIONAL if stamp.is_transactional else 0)
    _BASE_OFFSET.pack_into(batch, 0, 0)
    batch[12:16] = b"\xff\xff\xff\xff"
    _ATTRIBUTES.pack_into(batch, _ATTRIBUTES_AT, attributes)
    _PRODUCER.pack_into(batch, _PRODUCER_AT, stamp.producer_id, stamp.epoch, sequence)
    if earlier:
        [checksum] = _CRC.unpack_from(batch, _CRC_AT)
        checksum = after_change(checksum, earlier, batch[_ATTRIBUTES_AT:_COUNT_AT], len(batch) - _COUNT_AT)
    else:
        checksum = crc32c(batch[_ATTRIBUTES_AT:])
    _CRC.pack_into(batch, _CRC_AT, checksum)


def record_count(batch: memoryview) -> int:
    """How many records a format 2 batch has, without a look at the rest of its header."""
    return int(_COUNT.unpack_from(batch, _COUNT_AT)[0])


def newest_time(batch: memoryview) -> int:
    """The time of the newest record of a format 2 batch, as brokers know it; -1 if records have none."""
    return int(_TIME.unpack_from(batch, _NEWEST_TIME_AT)[0])


def following_sequence(batch: memoryview) -> int:
    """The sequence number that follows those of a format 2 batch."""
    _, _, sequence = _PRODUCER.unpack_from(batch, _PRODUCER_AT)
    return int(sequence + record_count(batch)) & _LARGEST_SEQUENCE


def control_type(batch: memoryview) -> int:
    """What a transaction marker says: 0 abort, 1 commit."""
    # A control record: length, attributes, timestamp delta, offset delta (varints), key length, then version and type.
    position = _skip_varint(batch, HEADER_SIZE) + 1
    for _ in range(3):
        position = _skip_varint(batch, position)
    return int.from_bytes(batch[position + 2 : position + 4], "big")


def _skip_varint(data: memoryview, position: int) -> int:
    while data[position] & 0x80:
        position += 1
    return position + 1
