"""Verification as a batch source of Spark: a partition is some slices, a row what came of one of them."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, ClassVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from heliograph.engine.session import start_session
from heliograph.errors import EngineFailed
from heliograph.kafka.closeable import Closeable
from heliograph.recovery.verification.comparison import Slice, SliceResult, opened_sides
from heliograph.recovery.verification.plan import SLICE_BYTES, VerificationPlan
from heliograph.recovery.verification.verification import Progress, Tally, Verification

_FORMAT = "heliograph_verification"
_LOOK_INTERVAL = 0.25
_SLICES_A_TASK = 500
_OUR_ERRORS = "heliograph.errors."


class VerifySource(DataSource):
    """Compares slices. `bound_to` makes the class that is registered with Spark."""

    tasks: ClassVar[Sequence[bytes]]

    @classmethod
    def bound_to(cls, tasks: Sequence[bytes]) -> type[VerifySource]:
        """A source with this work. The class is pickled, so credentials show in no plan, option or log."""
        return type("BoundVerifySource", (cls,), {"tasks": tasks})

    @classmethod
    def name(cls) -> str:
        """The name for `read.format`."""
        return _FORMAT

    def schema(self) -> str:
        """One row for each slice."""
        return "number int, result binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader that Spark plans and runs."""
        return _SliceReader(self.tasks)


class _SliceReader(DataSourceReader):
    """Hands out tasks and does them."""

    def __init__(self, tasks: Sequence[bytes]) -> None:
        self._tasks = tasks

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        return [InputPartition(task) for task in self._tasks]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Compare some slices."""
        plan, parts = pickle.loads(partition.value)  # noqa: S301 - made by our own driver
        with opened_sides(plan.source, plan.target, plan.rules, plan.view) as sides:
            for part in parts:
                yield part.number, pickle.dumps(sides.compare(part))


class VerifyingSession(Closeable):
    """A Spark session for verifications, on so many cores unless the settings name a cluster."""

    def __init__(self, settings: Mapping[str, str], cores: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="heliograph-verify-")
        self._spark = start_session(cores, settings, Path(self._folder.name) / "spark.log")

    def close(self) -> None:
        """End Spark."""
        self._spark.stop()
        self._folder.cleanup()

    def verify(self, plan: VerificationPlan, progress: Callable[[Progress], None] | None = None) -> Verification:
        """Do the work of a plan as many small Spark tasks."""
        self._spark.dataSource.register(VerifySource.bound_to(_packed(plan)))
        tally = Tally(plan, progress)
        with ThreadPoolExecutor(1, "verification") as threads:
            work = threads.submit(self._collect)
            while not work.done():
                wait([work], _LOOK_INTERVAL)
                tally.guess(_share_done(self._spark))
            for result in _outcome(work):
                tally.add(result)
        return tally.result()

    def _collect(self) -> list[SliceResult]:
        """Only what a task that has succeeded has said arrives here, however often it was tried."""
        rows = self._spark.read.format(_FORMAT).load().collect()
        return [pickle.loads(row.result) for row in rows]  # noqa: S301 - made by our own tasks


def _outcome(work: Future[list[SliceResult]]) -> list[SliceResult]:
    """What the work came to; Spark's failures in our words, and without Spark's pages of traces."""
    try:
        return work.result()
    except (PySparkException, Py4JError) as error:
        ours = [line for line in str(error).splitlines() if line.startswith(_OUR_ERRORS)]
        reason = ours[-1].removeprefix(_OUR_ERRORS) if ours else str(error).partition("\n")[0]
        raise EngineFailed(f"the comparison by Spark failed: {reason}") from error


def _share_done(spark: SparkSession) -> float:
    """The share of the tasks that have ended."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    done = sum(stage.numCompletedTasks for stage in stages if stage)
    return done / max(1, sum(stage.numTasks for stage in stages if stage))


def _packed(plan: VerificationPlan) -> list[bytes]:
    """Tasks of about one slice's size: many small slices share one."""
    tasks: list[list[Slice]] = []
    weight = 0
    for part in plan.slices():
        weight += part.segment.bytes
        if not tasks or weight > SLICE_BYTES or len(tasks[-1]) >= _SLICES_A_TASK:
            tasks.append([])
            weight = part.segment.bytes
        tasks[-1].append(part)
    shared = plan.without_partitions()
    return [pickle.dumps((shared, parts)) for parts in tasks]
