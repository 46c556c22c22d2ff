"""What groups have committed, as brokers tell it and take it.

A round of the group sync moves hundreds of thousands of offsets, and the client library's classes take twice as long to
read them and ten times as long to write them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from heliograph.kafka.encoding import INT32, Reader, compact_string, uvarint
from heliograph.model import TopicPartition

COMMIT_VERSIONS = (8, 9)
FETCH_VERSIONS = (6, 9)
MANY_GROUPS = 8  # from this version on, several groups fit into one request for offsets

_NOBODY = INT32.pack(-1) + compact_string("") + b"\0"  # generation, member, instance: the commit of no member
_NO_TEXT = compact_string("")
_COMMITTED = struct.Struct(">iqi")  # partition, offset, leader epoch
_FETCHED = struct.Struct(">iqiBhB")  # the same, length of the metadata, error code, count of tags; if there is no text
_TAKEN = struct.Struct(">ihB")  # partition, error code, count of tags
_BODY = 5  # a response begins with correlation id and tags


class Committed(NamedTuple):
    """What a group has committed for one partition: the next offset to read, and what it noted beside it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


Offsets = Mapping[TopicPartition, Committed]


class FetchedGroup(NamedTuple):
    """All that a group has committed, or why that is not told."""

    name: str
    offsets: dict[TopicPartition, Committed]
    error_code: int


def encode_commit(group: str, offsets: Offsets) -> bytes:
    """A commit of somebody who is no member of the group."""
    by_topic: dict[str, list[bytes]] = {}
    for (topic, partition), (offset, metadata, epoch) in offsets.items():
        text = compact_string(metadata) if metadata else _NO_TEXT
        by_topic.setdefault(topic, []).append(_COMMITTED.pack(partition, offset, epoch) + text + b"\0")
    pieces = [compact_string(group), _NOBODY, uvarint(len(by_topic) + 1)]
    for topic, items in by_topic.items():
        pieces += compact_string(topic), uvarint(len(items) + 1), *items, b"\0"
    return b"".join((*pieces, b"\0"))


def decode_commit(body: memoryview) -> dict[TopicPartition, int]:
    """What became of a commit: an error code for each partition."""
    reader = Reader(body, _BODY)
    reader.int32()  # throttle time
    codes: dict[TopicPartition, int] = {}
    for topic in _topics(reader):
        for _ in range(reader.uvarint() - 1):
            partition, code, tags = _TAKEN.unpack_from(body, reader.position)
            codes[TopicPartition(topic, partition)] = code
            reader.position += _TAKEN.size
            if tags:
                _skip_tags(reader)
    return codes


def decode_fetch(body: memoryview, version: int, asked_for: str) -> Iterator[FetchedGroup]:
    """What groups have committed; older versions tell of one group only, the one asked for, and not its name."""
    reader = Reader(body, _BODY)
    reader.int32()  # throttle time
    if version < MANY_GROUPS:
        yield _decode_group(reader, asked_for)
        return
    for _ in range(reader.uvarint() - 1):
        yield _decode_group(reader, _text(reader))


def _decode_group(reader: Reader, name: str) -> FetchedGroup:
    offsets: dict[TopicPartition, Committed] = {}
    for topic in _topics(reader):
        for _ in range(reader.uvarint() - 1):
            partition, committed, code = _decode_offset(reader)
            if code == 0 and committed.offset >= 0:
                offsets[TopicPartition(topic, partition)] = committed
    error_code = reader.int16()
    reader.tags()
    return FetchedGroup(name, offsets, error_code)


def _decode_offset(reader: Reader) -> tuple[int, Committed, int]:
    partition, offset, epoch, length, code, tags = _FETCHED.unpack_from(reader.data, reader.position)
    if length <= 1 and not tags:  # a length is told as one more, and 0 is no text at all
        reader.position += _FETCHED.size
        return partition, Committed(offset, "", epoch), code
    reader.position += _COMMITTED.size
    metadata = _text(reader)
    code = reader.int16()
    reader.tags()
    return partition, Committed(offset, metadata, epoch), code


def _topics(reader: Reader) -> Iterator[str]:
    """The names of the topics that follow; what is told of each is to be read before the next."""
    for _ in range(reader.uvarint() - 1):
        yield _text(reader)
        reader.tags()


def _text(reader: Reader) -> str:
    return str(reader.compact_bytes(), "utf-8")


def _skip_tags(reader: Reader) -> None:
    """Their count has been read already."""
    reader.position -= 1
    reader.tags()
