"""The sinks of `heliograph.records`, as Spark sees them: what they take, and who writes and commits.

In a stream, tasks write and Spark's driver commits (`micro_batch.py`). In a batch, which may take hours, each task
commits its own transaction, with a marker: a task that is run again, by whomever, first takes its transactional id,
which ends what its predecessor left open, and then looks for the marker: what was committed is not written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
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

from heliograph.engine.tables import markers, micro_batch
from heliograph.engine.tables.micro_batch import Written
from heliograph.engine.tables.options import OptionRefused, Options
from heliograph.engine.tables.row_writer import SinkPlan
from heliograph.errors import ClusterError
from heliograph.kafka.admin import Admin

_BATCH_ID = "streaming.sql.batchId"
_QUERY_ID = "sql.streaming.queryId"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")  # in the order of their numbers in a batch's attributes
_TASK_MS = 60_000
_MICRO_BATCH_MS = 300_000  # all tasks of it must be done before the transaction of the first one ends by itself
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


class _Sink:
    """What batches and streams share."""

    def __init__(self, options: Options, schema: StructType, timeout_ms: int) -> None:
        _check_schema(schema, options.text("topic"))
        codec = options.text("compression") or "none"
        if codec not in _CODECS:
            raise OptionRefused(f"compression: must be one of {', '.join(_CODECS)}, not {codec!r}")
        timeout_ms = options.number("transactionTimeoutMs", timeout_ms)
        self._plan = SinkPlan(options.access("producer"), options.text("topic"), _CODECS.index(codec), timeout_ms)
        with Admin(self._plan.access) as admin:
            markers.prepare_topic(admin, options.number("markersReplicationFactor", _COPIES))


class BatchSink(_Sink, DataSourceArrowWriter):
    """For `df.write`: tasks that are run again write nothing twice. Tasks that have ended stay, if others fail."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise OptionRefused("records can only be added to a topic: write with mode('append')")
        super().__init__(options, schema, _TASK_MS)
        self._job = str(uuid4())

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task, and commit them."""
        number = _context().partitionId()
        micro_batch.write_and_commit(self._plan, markers.task_name(self._job, number), iterator)
        return WriterCommitMessage()

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """All tasks have written: nobody will look for their markers again."""
        names = [markers.task_name(self._job, number) for number in range(len(messages))]
        with suppress(ClusterError):  # some markers more do no harm, and the job has succeeded
            micro_batch.forget(self._plan.access, names)


class StreamSink(_Sink, DataSourceStreamArrowWriter):
    """For `df.writeStream`: exactly once, as long as the query keeps its checkpoint."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema, _MICRO_BATCH_MS)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of a task of a micro-batch."""
        context = _context()
        query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        assert query
        assert batch
        return micro_batch.prepare(self._plan, query, context.partitionId(), int(batch), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commit what all tasks have written."""
        micro_batch.commit(self._plan.access, _told(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """A task has failed: nothing of the micro-batch is to be seen."""
        micro_batch.abort(self._plan.access, _told(messages))


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _told(messages: Sequence[WriterCommitMessage | None]) -> list[Written]:
    """What tasks have told; a task that has failed tells nothing."""
    return [message for message in messages if isinstance(message, Written)]


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
