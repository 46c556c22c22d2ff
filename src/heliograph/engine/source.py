"""Mirroring as a Spark streaming source: an offset is an epoch, a partition a lane, a row part of a transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.engine.control import ask_epoch, ask_tasks
from heliograph.engine.lane_line import LaneLine
from heliograph.engine.pulse import Heart
from heliograph.engine.wire import ControlAddress

SCHEMA = (
    "flow string, lane int, written_at_ms long, topic string, partition int, records long, bytes long, last_offset long"
)

_LISTEN_INTERVAL = 0.05


class BoundSource(DataSource):
    """A source whose lanes call the driver. `bound_to` makes the class that is registered with Spark."""

    address: ClassVar[ControlAddress]
    format_name: ClassVar[str]

    @classmethod
    def bound_to(cls, address: ControlAddress, format_name: str) -> type[BoundSource]:
        """A source whose lanes call this address. The class is pickled, so the key shows in no plan and no log."""
        return type(f"Bound{cls.__name__}", (cls,), {"address": address, "format_name": format_name})

    @classmethod
    def name(cls) -> str:
        """The name for `readStream.format`."""
        return cls.format_name


class LanePartition(InputPartition):
    """One lane as Spark hands it to a task."""

    def __init__(self, lane: int, task: bytes) -> None:
        super().__init__(lane)
        self.task = task


class EpochReader(DataSourceStreamReader):
    """Asks the driver for epochs, and for the lanes of each."""

    def __init__(self, address: ControlAddress, flow: str) -> None:
        self._address = address
        self._flow = flow

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Before the first epoch."""
        return {"epoch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802 - Spark's name
        """The epoch to run next; the same as `start` while there is nothing to do."""
        return {"epoch": ask_epoch(self._address, self._flow, start["epoch"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The lanes of an epoch."""
        tasks = ask_tasks(self._address, self._flow, end["epoch"])
        return [LanePartition(lane, task) for lane, task in enumerate(tasks)]


class MirrorSource(BoundSource):
    """Reads epochs of one flow."""

    def schema(self) -> str:
        """One row for each source partition that a transaction touched."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """The reader that Spark plans and runs."""
        return _CopyReader(self.address, self.options["flow"])


class _CopyReader(EpochReader):
    """Runs lanes that copy."""

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Copy until the epoch ends."""
        from heliograph.engine.lane import Lane  # not at the top: only the process that runs a lane needs all this
        from heliograph.engine.task import LaneTask

        assert isinstance(partition, LanePartition)
        task = LaneTask.unpacked(partition.task)
        line = LaneLine(self._address, self._flow, task.plan.deal)
        try:
            heart = Heart(task.plan.lane, line.report, task.settings.longest_silence)
            heart.beat(lambda: "starting")
            is_over = _EpochEnd(line, task.seconds)
            lane = Lane(task.plan, task.source, task.target, task.settings, is_over, line.report, heart)
            for entry in lane.run():
                line.report(entry)
                for item in entry.partitions:
                    yield (
                        entry.flow, entry.lane, entry.written_at_ms, *item.source,
                        item.record_count, item.byte_count, item.last_offset,
                    )  # fmt: skip
            line.say_done()
        finally:
            line.close()


class _EpochEnd:
    """Whether an epoch is over: its time has passed, or the driver said so."""

    def __init__(self, line: LaneLine, seconds: float) -> None:
        self._line = line
        self._deadline = time.monotonic() + seconds
        self._next_look = 0.0
        self._is_over = False

    def __call__(self) -> bool:
        now = time.monotonic()
        if not self._is_over and now >= self._next_look:
            self._next_look = now + _LISTEN_INTERVAL
            self._is_over = now >= self._deadline or self._line.was_told_to_end()
        return self._is_over
