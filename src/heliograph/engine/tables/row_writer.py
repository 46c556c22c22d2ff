"""Rows of a DataFrame as records of the partitions that they are meant for."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa

from heliograph.engine.tables.appending import Appending, Stream, record_size
from heliograph.engine.tables.columns import header_pairs, milliseconds
from heliograph.engine.tables.markers import PLACE, Rows
from heliograph.errors import DataError
from heliograph.kafka import positions
from heliograph.kafka.access import Access
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import Producer
from heliograph.model import TopicPartition

Row = tuple[str | None, int | None, Record]  # topic, partition

_BYTES = 8  # of a checksum
_SUM = 1 << (8 * _BYTES)


@dataclass(frozen=True)
class SinkPlan:
    """All that a task needs in order to write; travels pickled, and is never shown."""

    access: Access
    topic: str | None
    compression: int
    timeout_ms: int


class Tally:
    """Counts rows, and sums up checksums of them: where they are meant to go, headers, keys, values.

    Times are left out: a row that was given none gets that of its writing.
    """

    def __init__(self) -> None:
        self._count = self._total = 0

    def add(self, row: Row) -> None:
        """Count a row."""
        self._count += 1
        self._total += _checksum(row)

    @property
    def rows(self) -> Rows:
        """All that were counted."""
        return Rows(self._count, self._total % _SUM)


def _checksum(row: Row) -> int:
    """Sizes go in too, or bytes that move from the key to the value would change nothing."""
    topic, partition, record = row
    parts = [record.key, record.value, *(value for _, value in record.headers)]
    sizes = [None if part is None else len(part) for part in parts]
    digest = blake2b(repr((topic, partition, [name for name, _ in record.headers], sizes)).encode(), digest_size=_BYTES)
    for part in parts:
        digest.update(part or b"")
    return int.from_bytes(digest.digest())


def rows_of(plan: SinkPlan, batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of an Arrow batch as records, and where each is meant to go."""
    given = dict(zip(batch.schema.names, batch.columns, strict=True))
    count = batch.num_rows

    def column(name: str) -> list[object]:
        return given[name].to_pylist() if name in given else [None] * count

    keys, values = (_as_bytes(given[name]) if name in given else [None] * count for name in ("key", "value"))
    times = milliseconds(given["timestamp"]).to_pylist() if "timestamp" in given else [None] * count
    now = now_ms()
    stamps = [now if stamp is None else stamp for stamp in times]
    headers = header_pairs(given["headers"]) if "headers" in given else [()] * count
    made = map(Record, range(count), stamps, keys, values, headers)
    topics = [plan.topic] * count if plan.topic else column("topic")
    return zip(topics, column("partition"), made, strict=True)  # type: ignore[arg-type]


class RowWriter:
    """Appends rows within a transaction."""

    def __init__(self, network: Network, producer: Producer, plan: SinkPlan) -> None:
        self._network = network
        self._plan = plan
        self._appending = Appending(network.loop, network, producer)
        self._streams: dict[TopicPartition, Stream] = {}
        self._counts: dict[str, int] = {}
        self._sticky: dict[str, int] = {}
        self._tally = Tally()

    @property
    def rows(self) -> Rows:
        """What was written."""
        return self._tally.rows

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""
        self._sticky.clear()  # records without a key stay together for a batch, then move on
        for row in rows_of(self._plan, batch):
            topic, partition, record = row
            where = self._place(topic, partition, record.key)
            stream = self._streams.get(where) or self._open(where)
            size = record_size(record)
            if stream.may_be_too_large(size):
                raise DataError(f"{where}: a record of {size} bytes is larger than brokers take")
            self._appending.add(stream, record, size)
            self._tally.add(row)
        self._appending.advance()

    def finish(self, marker: Record) -> None:
        """Append the marker too, and wait until everything is there."""
        self._appending.add(self._open(PLACE), marker, record_size(marker))
        self._appending.finish(self._streams.values())

    def _place(self, topic: str | None, partition: int | None, key: bytes | None) -> TopicPartition:
        if not topic:
            raise DataError("a row has no topic, and the option topic is not set")
        count = self._counts.get(topic) or self._count(topic)
        if partition is None:
            partition = self._chosen(topic, count) if key is None else positions.partition_for(key, count)
        elif not 0 <= partition < count:
            raise DataError(f"{topic}: has {count} partitions, none with the number {partition}")
        return TopicPartition(topic, partition)

    def _chosen(self, topic: str, count: int) -> int:
        return self._sticky.setdefault(topic, random.randrange(count))  # noqa: S311 - no secret

    def _count(self, topic: str) -> int:
        if self._network.look_up([topic]):
            raise DataError(f"there is no topic {topic} to write to")
        self._counts[topic] = len(self._network.partitions(topic))
        return self._counts[topic]

    def _open(self, where: TopicPartition) -> Stream:
        target = self._appending.outgoing.partition(where)
        self._streams[where] = Stream(target, where, compression=self._plan.compression)
        return self._streams[where]


def _as_bytes(column: pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found


def now_ms() -> int:
    """The time of records that are given none."""
    return int(time.time() * 1000)
