"""A flow with SQL as a streaming query: source, the user's query, writer; each lane is one Spark task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.engine.collecting import collect_seldom
from heliograph.engine.lane_line import READER, LaneLine
from heliograph.engine.pulse import USERS_SECONDS, Heart
from heliograph.engine.source import BoundSource, EpochReader, LanePartition
from heliograph.engine.wire import ControlAddress

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.engine.tables.handover import Begun, Handover
    from heliograph.model import LedgerEntry

_SETTINGS = {
    "spark.sql.ansi.enabled": "false",  # a function that fails yields NULL, and not the end of its task
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",  # of rows on their way to Python
    "spark.sql.shuffle.partitions": "1",
}


def query_settings() -> dict[str, str]:
    """How queries of flows are evaluated."""
    return dict(_SETTINGS)


def computing_settings() -> dict[str, str]:
    """What a Spark session needs that does more than start lanes: all of the JVM's compilers, and memory for rows."""
    return {
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "",
        "spark.driver.memory": "1g",
    }


class FlowSource(BoundSource):
    """The records of one flow."""

    def schema(self) -> str:
        """The columns of records, and whose each is."""
        from heliograph.engine.tables.query import FLOW_SCHEMA

        return FLOW_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader that Spark plans and runs."""
        return _BatchReader(self.address, self.options["flow"])


class _BatchReader(EpochReader):
    """Reads what is new; an epoch is one micro-batch."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What is new in the partitions of a lane."""
        from heliograph.engine.tables.handover import Handover  # not at the top: planning processes need none of this
        from heliograph.engine.tables.lane_reader import LaneReader
        from heliograph.engine.task import LaneTask

        assert isinstance(partition, LanePartition)
        collect_seldom()
        handover = Handover(self._address, self._flow, _attempt())
        task = LaneTask.unpacked(partition.task)
        line = LaneLine(self._address, self._flow, task.plan.deal, READER)
        heart = Heart(task.plan.lane, line.report, task.settings.longest_silence)
        reader = LaneReader(task, handover, heart)
        try:
            for batch in reader.read():
                heart.before("waiting for the query to take records", USERS_SECONDS)
                yield batch
        finally:
            reader.close()
            line.close()


def _attempt() -> int:
    """The number that Spark gives this attempt of a task: all processes that work for it get the same."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.taskAttemptId())


def flow_rows(spark: SparkSession, flow: str, address: ControlAddress, format_name: str, sql: str) -> DataFrame:
    """The streaming query of a flow, ready to be started; raises QueryRefused if the text cannot be used."""
    from heliograph.engine.tables.query import map_in_arrow, prepare

    session = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    session.dataSource.register(FlowSource.bound_to(address, format_name))
    rows = prepare(session, sql, lambda: session.readStream.format(format_name).option("flow", flow).load())
    return map_in_arrow(rows, writer_of(address, flow), "records long")


def writer_of(address: ControlAddress, flow: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does with its rows: one transaction on the target."""

    def write(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # not at the top: drivers of flows without SQL need none of this

        from heliograph.engine.tables.handover import Handover

        collect_seldom()
        handover = Handover(address, flow, _attempt())
        first = next(rows, None)  # the reader has told what to do before its first row, or before its end
        begun = handover.begun()
        line = LaneLine(address, flow, begun.task.plan.deal)
        heart = Heart(begun.task.plan.lane, line.report, begun.task.settings.longest_silence)
        rows = _awaited(chain([] if first is None else [first], rows), heart)
        try:
            for entry in _written(begun, rows, handover, first is None, heart):
                line.report(entry)
                yield pa.RecordBatch.from_arrays([pa.array([entry.record_count], pa.int64())], names=["records"])
            line.say_done()
        finally:
            line.close()

    return write


def _awaited(rows: Iterator[pa.RecordBatch], heart: Heart) -> Iterator[pa.RecordBatch]:
    """The same rows; the query may take its time with each batch."""
    while True:
        heart.before("waiting for records from the query", USERS_SECONDS)
        batch = next(rows, None)
        if batch is None:
            return
        yield batch


def _written(
    begun: Begun, rows: Iterator[pa.RecordBatch], handover: Handover, is_empty: bool, heart: Heart
) -> Iterator[LedgerEntry]:
    """Write all rows, and what the reader says at the end; yields the ledger's entry."""
    from heliograph.engine.tables.lane_writer import LaneWriter
    from heliograph.errors import PartitionFailed, TargetCutBack
    from heliograph.model import Event, EventKind

    coverage = handover.covered() if is_empty else None
    if coverage is not None and coverage.is_empty:
        return
    writer = LaneWriter(begun, heart)
    try:
        writer.start()
        for batch in rows:
            writer.write(batch)
        entry = writer.finish(coverage or handover.covered())
    except (PartitionFailed, TargetCutBack) as failure:
        # What was written is lost with the transaction; the next micro-batch does without the partition.
        writer.close()
        for _ in rows:
            pass
        writer = LaneWriter(begun, heart)
        writer.start()
        if isinstance(failure, TargetCutBack):
            entry = writer.bar(failure.places)
        else:
            is_known = begun.task.plan.set_aside.get(failure.source) == failure.reason
            event = Event(EventKind.SET_ASIDE, failure.source, -1, -1, failure.reason)
            entry = None if is_known else writer.tell([event])
    finally:
        writer.close()
    if entry is not None:
        yield entry
