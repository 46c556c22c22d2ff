"""Records that producers rarely write and mirrors easily spoil, in batches of every codec and many sizes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from heliograph.kafka.records import Record

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

_DAY_MS = 24 * 3600 * 1000
_LARGE = 900_000


def odd_records() -> list[Record]:
    """One record for each way of being odd; the offsets count them."""
    now = int(time.time() * 1000)
    return [
        Record(0, now, None, None),
        Record(1, now, b"", b""),
        Record(2, now, b"tombstone", None),
        Record(3, now, None, b"no key"),
        Record(4, now, b"key", b"value", [("h", b"1"), ("h", b"2"), ("h", b"1")]),
        Record(5, now, b"key", b"value", [("null", None), ("empty", b""), ("", b"nameless"), ("ünïcode", b"\xff")]),
        Record(6, now, bytes(range(256)), b"\xc3\x28\xfe\xff\x00"),
        Record(7, 0, b"1970", b"time 0"),
        Record(8, now - 3650 * _DAY_MS, b"past", b"ten years ago"),
        Record(9, now + 3650 * _DAY_MS, b"future", b"in ten years"),
        Record(10, now - 5, b"late", b"earlier than the one before"),
        Record(11, now, b"many headers", b"", [(f"h{i}", bytes([i])) for i in range(200)]),
        Record(12, now, b"long key" * 5000, b"x"),
    ]


def large_record(seed: int = 0) -> Record:
    """Nearly as much as a broker takes by default; random, so that no codec makes it small."""
    return Record(0, 1_700_000_000_000, b"large", random.Random(seed).randbytes(_LARGE))


def numbered(count: int, first: int = 0, size: int = 20) -> list[Record]:
    """Ordinary records, each told by its number."""
    start = 1_700_000_000_000
    return [
        Record(
            i - first,
            start + i,
            f"key-{i % 7}".encode(),
            f"value-{i}".encode().ljust(size, b"."),
            [("n", str(i).encode())],
        )
        for i in range(first, first + count)
    ]


def odd_batches() -> Iterator[tuple[list[Record], int]]:
    """Batches of odd and ordinary records, each with its codec."""
    first = 0
    for codec in CODECS.values():
        yield odd_records(), codec
        for size in (1, 2, 17, 400):
            yield numbered(size, first), codec
            first += size
        yield [large_record(codec)], codec
