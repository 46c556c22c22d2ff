"""Detection as a streaming query: what is new is dealt to buckets, settled there, and written by each task at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.engine.collecting import collect_seldom
from heliograph.engine.lane_line import READER, LaneLine
from heliograph.engine.source import BoundSource, EpochReader, LanePartition
from heliograph.engine.wire import ControlAddress

if TYPE_CHECKING:
    import pyarrow as pa

    from heliograph.engine.conflicts.driver import DetectionDriver
    from heliograph.engine.conflicts.task_writer import WriterSettings

_NO_EPOCH = 0  # what a task writes tells it later, with the first tick
_SCHEMA = "bucket int, kind int, data binary"
_STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def _settings(tasks: int) -> dict[str, str]:
    return {
        "spark.sql.shuffle.partitions": str(tasks),
        "spark.sql.streaming.stateStore.providerClass": _STATE_STORE,
        # Only what has changed is written with each epoch.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.minBatchesToRetain": "2",
    }


class DetectionSource(BoundSource):
    """What is new for detection on one cluster."""

    def schema(self) -> str:
        """Rows for buckets."""
        return _SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader that Spark plans and runs."""
        return DetectionReader(self.address, self.options["flow"])


class DetectionReader(EpochReader):
    """An epoch is one micro-batch."""

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """The rows of a task."""
        from heliograph.engine.conflicts.range_rows import RangeRows  # not at the top: planning needs none of this
        from heliograph.engine.conflicts.read_task import ReadTask
        from heliograph.engine.conflicts.task_pulse import task_heart

        if not isinstance(partition, LanePartition):
            return
        collect_seldom()
        task = ReadTask.unpacked(partition.task)
        line = LaneLine(self._address, self._flow, task.epoch, READER)
        try:
            rows = RangeRows(task, task_heart(partition.value, line))
            yield from rows.read()
            if rows.passed_by:
                line.report(rows.passed_by)
        finally:
            line.close()


def detection_rows(
    spark: SparkSession, driver: DetectionDriver, address: ControlAddress, format_name: str
) -> DataFrame:
    """The streaming query, ready to be started."""
    from heliograph.engine.conflicts.bucket_processor import BucketProcessor, stateful_rows
    from heliograph.engine.tables.query import map_in_arrow

    settings, writer = driver.settings, driver.writer_settings
    session = spark.newSession()
    for key, value in _settings(writer.tasks).items():
        session.conf.set(key, value)
    session.dataSource.register(DetectionSource.bound_to(address, format_name))
    rows = session.readStream.format(format_name).option("flow", driver.name).load()
    processor = BucketProcessor(settings.bounds, settings.make_resolver, bool(writer.views))
    decided = stateful_rows(rows, session, processor)
    return map_in_arrow(decided, _writing(address, driver.name, writer), "buckets int")


def _writing(
    address: ControlAddress, name: str, settings: WriterSettings
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does with its rows: one transaction."""

    def write(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # not at the top: drivers of flows need none of this
        from pyspark import TaskContext

        from heliograph.engine.conflicts.task_pulse import task_heart
        from heliograph.engine.conflicts.task_writer import TaskWriter

        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        line = LaneLine(address, name, _NO_EPOCH)
        try:
            report = TaskWriter(settings, number, task_heart(number, line)).write(rows)
            if report is None:
                return
            line.report(report)
        finally:
            line.close()
        yield pa.RecordBatch.from_arrays([pa.array([len(report.marks)], pa.int32())], names=["buckets"])

    return write
