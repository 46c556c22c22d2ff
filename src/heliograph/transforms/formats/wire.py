"""Confluent's framing: a zero byte, four bytes of schema id, for Protobuf also which message of the file it is."""

from __future__ import annotations

import struct
from typing import Final

from heliograph.errors import DataError

PREFIX_BYTES: Final = 5
_PREFIX = struct.Struct(">bI")
_LARGEST_ID: Final = 2**31 - 1
_MOST_INDEXES: Final = 100
_VARINT_BYTES: Final = 5


def schema_id(data: bytes) -> int | None:
    """The schema id that bytes begin with, if they can be framed at all."""
    if len(data) < PREFIX_BYTES or data[0] != 0:
        return None
    number = int.from_bytes(data[1:PREFIX_BYTES], "big")
    return number if 0 < number <= _LARGEST_ID else None


def prefix(number: int) -> bytes:
    """What bytes with a schema of this id begin with."""
    return _PREFIX.pack(0, number)


def read_indexes(data: bytes, at: int = PREFIX_BYTES) -> tuple[tuple[int, ...], int]:
    """Which message of a Protobuf file it is, from the outermost inwards, and where the message begins."""
    count, at = _read_varint(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _MOST_INDEXES:
        raise DataError("the message indexes behind the schema id make no sense")
    indexes = []
    for _ in range(count):
        index, at = _read_varint(data, at)
        indexes.append(index)
    return tuple(indexes), at


def write_indexes(indexes: tuple[int, ...]) -> bytes:
    """The bytes that say which message of a Protobuf file it is; the first one takes a single zero."""
    if indexes == (0,):
        return b"\0"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    raw = 0
    for position in range(_VARINT_BYTES):
        if at + position >= len(data):
            raise DataError("the bytes end within the message indexes")
        byte = data[at + position]
        raw |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at + position + 1
    raise DataError("the message indexes behind the schema id make no sense")


def _varint(number: int) -> bytes:
    raw = number << 1  # zigzag; indexes are never negative
    output = bytearray()
    while raw >= 0x80:
        output.append(raw & 0x7F | 0x80)
        raw >>= 7
    output.append(raw)
    return bytes(output)
