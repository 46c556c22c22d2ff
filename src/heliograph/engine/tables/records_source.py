"""`heliograph.records`: the records of a cluster as a source and a sink of Spark, for batches and streams."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from heliograph.engine.tables.columns import SCHEMA
from heliograph.engine.tables.log_ends import LogEnds
from heliograph.engine.tables.options import Options
from heliograph.engine.tables.ranges import OffsetRange, cut, limited
from heliograph.engine.tables.records_sink import BatchSink, StreamSink
from heliograph.errors import DataError
from heliograph.kafka.access import Access
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

NAME = "heliograph.records"

StreamOffset = dict[str, dict[str, int]]  # by topic, then by the partition's number as text


class RecordsSource(DataSource):
    """Reads and writes records with the columns of Spark's own Kafka source."""

    @classmethod
    def name(cls) -> str:
        """The name for `format`."""
        return NAME

    def schema(self) -> str:
        """The columns of records."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`."""
        return _BatchReader(Options(self.options, is_reading=True))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """For `spark.readStream`."""
        return _StreamReader(Options(self.options, is_reading=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """For `df.write`."""
        return BatchSink(Options(self.options, is_reading=False), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802 - Spark's name
        """For `df.writeStream`."""
        return StreamSink(Options(self.options, is_reading=False), schema)


class _RangePartition(InputPartition):
    """A range of offsets as Spark hands it to a task, with how to get there: it travels pickled, and is never shown."""

    def __init__(self, access: Access, chosen: OffsetRange) -> None:
        super().__init__(None)
        self.access = access
        self.range = chosen


class _Reading:
    """What batches and streams share."""

    def __init__(self, options: Options) -> None:
        self._access = options.access("consumer")
        self._ends = LogEnds(self._access, options.selection())
        self._at_least = options.number("minPartitions", 1)
        self._fails_on_loss = options.flag("failOnDataLoss", True)

    def _parts(self, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> list[InputPartition]:
        if not any(starts[where] < end for where, end in ends.items()):
            return []
        self._check_loss(starts, ends)
        return [_RangePartition(self._access, item) for item in cut(starts, ends, self._at_least)]

    def _check_loss(self, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]) -> None:
        """Begin later where the first records are gone, but only if told so."""
        for where, first in self._ends.earliest(ends).items():
            if starts[where] < first and starts[where] < ends[where]:
                lost = f"{where}: offsets {starts[where]} to {min(first, ends[where]) - 1} are gone"
                if self._fails_on_loss:
                    raise DataError(f"{lost}; with the option failOnDataLoss = false they are passed over")
                log.warning("%s, and passed over", lost)
                starts[where] = min(first, ends[where])

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The records of a range."""
        from heliograph.engine.tables.range_reader import read_range

        if not isinstance(partition, _RangePartition):  # of a batch without ranges Spark makes one empty partition
            return iter(())
        return read_range(partition.access, partition.range)


class _BatchReader(_Reading, DataSourceReader):
    """Reads what is there now."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._starting = options.starting("earliest")
        self._ending = options.ending()

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges between the chosen offsets."""
        chosen = self._ends.partitions()
        ends = self._ends.resolved(chosen, self._ending)
        for where, last in self._ends.latest(chosen).items():
            if ends[where] > last:
                raise DataError(f"endingOffsets: {where} ends at {last}, before {ends[where]}")
        return self._parts(self._ends.resolved(chosen, self._starting), ends)


class _StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what is new, one micro-batch after the other; the query's checkpoint knows how far it is."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._starting = options.starting("latest")
        self._most = options.number("maxOffsetsPerTrigger", 0)
        self._final: dict[TopicPartition, int] | None = None

    def initialOffset(self) -> StreamOffset:  # noqa: N802 - Spark's name
        """Where the stream begins."""
        return _packed(self._ends.resolved(self._ends.partitions(), self._starting))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """How much a micro-batch gets at most."""
        return ReadMaxRows(self._most) if self._most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read only what is there now."""
        self._final = self._ends.latest(self._ends.partitions())

    def latestOffset(self, start: StreamOffset, limit: Any) -> StreamOffset:  # noqa: N802 - Spark's name
        """Where the next micro-batch ends."""
        starts = _unpacked(start)
        ends = self._final if self._final is not None else self._ends.latest(self._ends.partitions())
        ends = {where: max(end, starts.get(where, 0)) for where, end in ends.items()}
        if isinstance(limit, ReadMaxRows):
            ends = limited(self._with_new(starts, ends), ends, limit.max_rows)
        return _packed({**starts, **ends})

    def partitions(self, start: StreamOffset, end: StreamOffset) -> Sequence[InputPartition]:
        """The ranges of a micro-batch."""
        ends = _unpacked(end)
        return self._parts(self._with_new(_unpacked(start), ends), ends)

    def _with_new(
        self, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Partitions that are new are read from their beginning, as Spark's own source does."""
        return {**starts, **self._ends.earliest(ends.keys() - starts.keys())}


def _packed(offsets: dict[TopicPartition, int]) -> StreamOffset:
    packed: StreamOffset = {}
    for where, offset in sorted(offsets.items()):
        packed.setdefault(where.topic, {})[str(where.partition)] = offset
    return packed


def _unpacked(packed: StreamOffset) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, int(n)): offset for topic, some in packed.items() for n, offset in some.items()}
