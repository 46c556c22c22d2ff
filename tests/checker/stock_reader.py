"""The records of partitions as any stock consumer sees them, committed ones only."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import kafka
from kafka import KafkaConsumer

from heliograph.kafka import reading
from heliograph.kafka.patience import Patience
from heliograph.model import TopicPartition
from tests.zoo import raw

Headers = tuple[tuple[str, bytes | None], ...]
_PATIENCE_SECONDS = 60
_MARK_SECONDS = 5


class Content(NamedTuple):
    """What must be the same on both sides; long bytes are held as digests, so that many records fit in memory."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int


class Seen(NamedTuple):
    """One record, and where it was."""

    offset: int
    content: Content


def read_committed(bootstrap_servers: str | Sequence[str], where: TopicPartition) -> Iterator[Seen]:
    """All committed records from the beginning of a partition to the end seen now, in order."""
    with CommittedReader(bootstrap_servers) as reader:
        yield from reader.read(where)


class CommittedReader:
    """One consumer for many partitions, one after the other: to connect takes longer than to read a few records."""

    def __init__(self, bootstrap_servers: str | Sequence[str]) -> None:
        self._servers = bootstrap_servers if isinstance(bootstrap_servers, str) else ",".join(bootstrap_servers)
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
            max_partition_fetch_bytes=4 * 1024 * 1024,
        )
        self._next: dict[TopicPartition, int] = {}

    def __enter__(self) -> CommittedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def read(self, where: TopicPartition) -> Iterator[Seen]:
        """All records of a partition up to the end seen now; what was read before with this reader is left out."""
        return self._read(where, self._end(where))

    def read_again(self, where: TopicPartition) -> Iterator[Seen]:
        """All records of a partition from its beginning, as soon as the ends of transactions are marked in it.

        Brokers write the mark of a commit a moment after they have agreed to it. A lane that was dropped may have left
        a transaction open, so what is not marked after a while is not waited for.
        """
        self._next.pop(where, None)
        with raw.network(self._servers, where.topic) as (_, network):
            written = reading.list_offsets(network, where.topic, {where.partition: reading.LATEST})[where.partition]
        patience = Patience(_MARK_SECONDS)
        while (end := self._end(where)) < written and patience.wait():
            pass
        return self._read(where, end)

    def _end(self, where: TopicPartition) -> int:
        """Up to where there is nothing but ended transactions."""
        partition = kafka.TopicPartition(*where)
        return int(self._consumer.end_offsets([partition])[partition])

    def _read(self, where: TopicPartition, end: int) -> Iterator[Seen]:
        partition = kafka.TopicPartition(*where)
        self._consumer.assign([partition])
        if where in self._next:
            self._consumer.seek(partition, self._next[where])
        else:
            self._consumer.seek_to_beginning(partition)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while (position := self._consumer.position(partition)) < end:
            assert time.monotonic() < deadline, f"{where}: read only to {position} of {end}"
            for record in self._consumer.poll(timeout_ms=200).get(partition, ()):
                if record.offset < end:
                    deadline = time.monotonic() + _PATIENCE_SECONDS
                    yield Seen(record.offset, content_of(record))
        self._next[where] = end


def content_of(record: object) -> Content:
    """What is compared of a consumer's record."""
    headers = tuple((name, _brief(value)) for name, value in record.headers)  # type: ignore[attr-defined]
    return Content(_brief(record.key), _brief(record.value), headers, record.timestamp)  # type: ignore[attr-defined]


def _brief(data: bytes | None) -> bytes | None:
    # A digest is longer than anything kept as it is, so the two cannot be taken for each other.
    return data if data is None or len(data) < 32 else blake2b(data, digest_size=32).digest()
