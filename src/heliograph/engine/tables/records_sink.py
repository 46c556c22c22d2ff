"""Rows of a DataFrame as records: each task of a write is one transaction, remembered on the cluster by a marker.

The marker is a record in a topic of our own, under the name of the query and the task, with the number of the
micro-batch, in the same transaction as the rows. A task that is run again, by whomever, first takes its transactional
id, which ends what its predecessor left open, and then reads the marker: what was committed is not written again.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from heliograph.engine.fault_points import reached
from heliograph.engine.tables.appending import Appending, Stream, record_size
from heliograph.engine.tables.columns import header_pairs, milliseconds
from heliograph.engine.tables.options import OptionRefused, Options
from heliograph.errors import DataError
from heliograph.kafka import positions, reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic, Status
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition

MARKERS = "mm2-tables.internal"
_BATCH_ID = "streaming.sql.batchId"
_QUERY_ID = "sql.streaming.queryId"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # in the order of their numbers in a batch's attributes
_FIRST_STEP = 1_000  # offsets of the markers' topic
_GROWTH = 4
_TIMEOUT_MS = 60_000
_COPIES = 3
_TEXT = (StringType, BinaryType)
_COLUMNS: dict[str, tuple[type[DataType], ...]] = {
    "key": _TEXT,
    "value": _TEXT,
    "headers": (ArrayType,),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "timestamp": (TimestampType, LongType),
}
_IGNORED = ("offset", "timestampType")  # of rows that were read from a cluster


@dataclass(frozen=True)
class SinkPlan:
    """All that a task needs in order to write; travels pickled, and is never shown."""

    access: Access
    topic: str | None
    compression: int
    timeout_ms: int


class _Sink:
    """What batches and streams share."""

    def __init__(self, options: Options, schema: StructType) -> None:
        _check_schema(schema, options.text("topic"))
        codec = options.text("compression") or "none"
        if codec not in _CODECS:
            raise OptionRefused(f"compression: must be one of {', '.join(_CODECS)}, not {codec!r}")
        timeout_ms = options.number("transactionTimeoutMs", _TIMEOUT_MS)
        self._plan = SinkPlan(options.access("producer"), options.text("topic"), _CODECS.index(codec), timeout_ms)
        _create_markers(self._plan.access, options.number("markersReplicationFactor", _COPIES))


class BatchSink(_Sink, DataSourceArrowWriter):
    """For `df.write`: tasks that are run again write nothing twice. Tasks that have ended stay, if others fail."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise OptionRefused("records can only be added to a topic: write with mode('append')")
        super().__init__(options, schema)
        self._job = str(uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task."""
        context = TaskContext.get()
        assert context is not None
        write_rows(self._plan, f"{self._job}-{context.partitionId()}", 0, iterator)
        return WriterCommitMessage()


class StreamSink(_Sink, DataSourceStreamArrowWriter):
    """For `df.writeStream`: exactly once, as long as the query keeps its checkpoint."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task of a micro-batch."""
        context = TaskContext.get()
        assert context is not None
        query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        assert query
        assert batch
        write_rows(self._plan, f"{query}-{context.partitionId()}", int(batch), iterator)
        return WriterCommitMessage()


def write_rows(plan: SinkPlan, name: str, batch_id: int, rows: Iterator[pa.RecordBatch]) -> None:
    """One transaction with all rows and a marker; nothing at all if the marker is there already."""
    with opened(plan.access, [MARKERS]) as (_, network):
        producer = TransactionalProducer(network, f"heliograph-tables-{name}", plan.timeout_ms)
        reached("fenced")
        last = last_batch(network, name)
        if last is not None and last >= batch_id:
            for _ in rows:
                pass
            return
        writer = _RowWriter(network, producer, plan)
        for batch in rows:
            writer.write(batch)
        writer.finish(name, batch_id)
        reached("bookkeeping-written")
        producer.end(commit=True)
        reached("committed")


def last_batch(network: Network, name: str) -> int | None:
    """The newest micro-batch that a task has committed: read from the end of the markers back, in growing steps."""
    first = reading.list_offsets(network, MARKERS, {0: EARLIEST})[0]
    end = reading.list_offsets(network, MARKERS, {0: LATEST})[0]
    start, step = end, _FIRST_STEP
    while start > first:
        upper, start = start, max(first, end - step)
        found = None
        for batch in reading.read_batches(network.loop, network, MARKERS, {0: start}, {0: upper}):
            for record in records.decode(batch.magic, batch.data):
                if record.key == name.encode() and record.value and record.offset >= start:
                    found = int(json.loads(record.value)["batch"])
        if found is not None:
            return found
        step *= _GROWTH
    return None


class _RowWriter:
    """Turns rows into records of the partitions that they are meant for."""

    def __init__(self, network: Network, producer: TransactionalProducer, plan: SinkPlan) -> None:
        self._network = network
        self._plan = plan
        self._appending = Appending(network.loop, network, producer)
        self._streams: dict[TopicPartition, Stream] = {}
        self._counts: dict[str, int] = {}
        self._sticky: dict[str, int] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch."""
        self._sticky.clear()  # records without a key stay together for a batch, then move on
        for topic, partition, record in self._rows(batch):
            where = self._place(topic, partition, record.key)
            stream = self._streams.get(where) or self._open(where)
            size = record_size(record)
            if stream.may_be_too_large(size):
                raise DataError(f"{where}: a record of {size} bytes is larger than brokers take")
            self._appending.add(stream, record, size)
        self._appending.advance()

    def finish(self, name: str, batch_id: int) -> None:
        """Append the marker too, and wait until everything is there."""
        marker = Record(0, _now(), name.encode(), json.dumps({"batch": batch_id}).encode())
        self._appending.add(self._open(TopicPartition(MARKERS, 0)), marker, record_size(marker))
        self._appending.finish(self._streams.values())

    def _rows(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, int | None, Record]]:
        given = dict(zip(batch.schema.names, batch.columns, strict=True))
        count = batch.num_rows

        def column(name: str) -> list[object]:
            return given[name].to_pylist() if name in given else [None] * count

        keys, values = (_as_bytes(given[name]) if name in given else [None] * count for name in ("key", "value"))
        times = milliseconds(given["timestamp"]).to_pylist() if "timestamp" in given else [None] * count
        now = _now()
        stamps = [now if stamp is None else stamp for stamp in times]
        headers = header_pairs(given["headers"]) if "headers" in given else [()] * count
        made = map(Record, range(count), stamps, keys, values, headers)
        topics = [self._plan.topic] * count if self._plan.topic else column("topic")
        return zip(topics, column("partition"), made, strict=True)  # type: ignore[arg-type]

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


def _now() -> int:
    return int(time.time() * 1000)


def _check_schema(schema: StructType, topic: str | None) -> None:
    for field in schema.fields:
        if field.name in _IGNORED:
            continue
        if field.name not in _COLUMNS:
            raise OptionRefused(f"the column {field.name} means nothing to a record; there are {', '.join(_COLUMNS)}")
        if not isinstance(field.dataType, _COLUMNS[field.name]):
            raise OptionRefused(f"the column {field.name} cannot be {field.dataType.simpleString()}")
    names = schema.fieldNames()
    if "value" not in names:
        raise OptionRefused("there must be a column named value")
    if topic is None and "topic" not in names:
        raise OptionRefused("there must be a column named topic, or the option topic")


def _create_markers(access: Access, copies: int) -> None:
    with Admin(access) as admin:
        if MARKERS in admin.topics([MARKERS]):
            return
        settings = {"cleanup.policy": "compact"}
        outcome = admin.create_topic(NewTopic(MARKERS, 1, min(copies, admin.broker_count()), settings))
        if outcome.status is Status.REFUSED:
            raise DataError(f"the topic {MARKERS} cannot be created: {outcome.reason}")
        admin.wait_for_topics({MARKERS: 1})
