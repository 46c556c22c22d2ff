"""Records of format 2 in plain Python, for the few that the quick codec refuses.

Those are records with names of headers that are no UTF-8. Kafka's own clients only ever write UTF-8, but brokers do not
look, and other clients write what they are given.

Such names are carried through as they are: in texts each wrong byte stands as half of a surrogate pair, as Python has
it for names of files (`surrogateescape`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence

from aiokafka import codec
from crc32c import crc32c

from heliograph.kafka.batches import LOG_APPEND_TIME, TRANSACTIONAL, BatchHeader, ProducerStamp

Headers = Sequence[tuple[str, bytes | None]]
Fields = tuple[int, int, bytes | None, bytes | None, Headers]  # offset, time, key, value, headers

_PACKERS: dict[int, Callable[[bytes], bytes]] = {
    1: codec.gzip_encode, 2: codec.snappy_encode, 3: codec.lz4_encode, 4: codec.zstd_encode,
}  # fmt: skip
_AFTER_CRC = struct.Struct(">hiqqqhii")
_BEFORE_CRC = struct.Struct(">qiibI")
_NO_EPOCH = -1
_MAGIC = 2
_LENGTH_BEFORE_CONTENT = 9  # leader epoch, magic, checksum


def read(header: BatchHeader, section: bytes) -> Iterator[Fields]:
    """The records in a records section that is not compressed (any more)."""
    reader = _Reader(section)
    for _ in range(header.record_count):
        reader.varint()  # its length
        reader.position += 1  # attributes, which nobody uses
        time_delta, offset_delta = reader.varint(), reader.varint()
        is_brokers_time = header.attributes & LOG_APPEND_TIME
        timestamp = header.max_timestamp if is_brokers_time else header.first_timestamp + time_delta
        key, value = reader.sized(), reader.sized()
        headers = [(_text(reader.sized() or b""), reader.sized()) for _ in range(reader.varint())]
        yield header.base_offset + offset_delta, timestamp, key, value, headers


def write(items: Iterable[Fields], stamp: ProducerStamp, sequence: int, compression: int) -> bytearray:
    """One batch; offsets count from its beginning."""
    found = list(items)
    times = [item[1] for item in found]
    section = b"".join(_record(item, times[0]) for item in found)
    packed = _PACKERS[compression](section) if compression else section
    attributes = compression | (TRANSACTIONAL if stamp.is_transactional else 0)
    numbers = (found[-1][0], times[0], max(times), stamp.producer_id, stamp.epoch, sequence, len(found))
    content = _AFTER_CRC.pack(attributes, *numbers) + packed
    length = _LENGTH_BEFORE_CONTENT + len(content)
    return bytearray(_BEFORE_CRC.pack(0, length, _NO_EPOCH, _MAGIC, crc32c(content)) + content)


def is_utf8(name: str) -> bool:
    """Whether the name of a header is text, and not only bytes that are carried through."""
    return name.isascii() or not any("\udc80" <= letter <= "\udcff" for letter in name)


def _record(item: Fields, first_time: int) -> bytes:
    offset_delta, timestamp, key, value, headers = item
    pieces = [b"\0", _varint(timestamp - first_time), _varint(offset_delta), _sized(key), _sized(value)]
    pieces.append(_varint(len(headers)))
    for name, content in headers:
        pieces += [_sized(name.encode("utf-8", "surrogateescape")), _sized(content)]
    body = b"".join(pieces)
    return _varint(len(body)) + body


def _text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _sized(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content


def _varint(number: int) -> bytes:
    left = number << 1 ^ number >> 63  # small for small negative numbers too
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


class _Reader:
    """Walks over bytes; what lies behind their end is an error."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._data[self.position]
            self.position += 1
            number |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return number >> 1 ^ -(number & 1)
            shift += 7

    def sized(self) -> bytes | None:
        size = self.varint()
        if size < 0:
            return None
        found = self._data[self.position : self.position + size]
        if len(found) < size:
            raise IndexError("a record ends too early")
        self.position += size
        return found
