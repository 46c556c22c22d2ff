"""The few encodings of Kafka's protocol that the data path writes and reads itself, on memoryviews."""

from __future__ import annotations

import struct

INT16 = struct.Struct(">h")
INT32 = struct.Struct(">i")
INT64 = struct.Struct(">q")


def uvarint(number: int) -> bytes:
    """An unsigned number, seven bits to a byte."""
    if number < 0x80:
        return bytes((number,))
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def compact_string(text: str) -> bytes:
    """A string with its length plus one before it."""
    data = text.encode()
    return uvarint(len(data) + 1) + data


class Reader:
    """Reads a response from front to back."""

    __slots__ = ("data", "position")

    def __init__(self, data: memoryview, position: int = 0) -> None:
        self.data = data
        self.position = position

    def int16(self) -> int:
        """Two bytes."""
        self.position += 2
        value: int = INT16.unpack_from(self.data, self.position - 2)[0]
        return value

    def int32(self) -> int:
        """Four bytes."""
        self.position += 4
        value: int = INT32.unpack_from(self.data, self.position - 4)[0]
        return value

    def int64(self) -> int:
        """Eight bytes."""
        self.position += 8
        value: int = INT64.unpack_from(self.data, self.position - 8)[0]
        return value

    def uvarint(self) -> int:
        """An unsigned number, seven bits to a byte."""
        data, position = self.data, self.position
        byte = data[position]
        position += 1
        number = byte & 0x7F
        shift = 7
        while byte & 0x80:
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
        self.position = position
        return number

    def take(self, count: int) -> memoryview:
        """The next bytes, without a copy."""
        self.position += count
        return self.data[self.position - count : self.position]

    def compact_bytes(self) -> memoryview:
        """Bytes with their length plus one before them; none when absent."""
        return self.take(max(self.uvarint() - 1, 0))

    def tags(self) -> dict[int, memoryview]:
        """The tagged fields at the end of a structure."""
        count = self.uvarint()
        if not count:
            return {}
        fields = {}
        for _ in range(count):
            tag = self.uvarint()
            fields[tag] = self.take(self.uvarint())
        return fields
