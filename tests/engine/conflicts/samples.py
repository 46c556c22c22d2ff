"""Settings, marks and progress to try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.bucket import BUCKETS, CutKey
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.engine.conflicts.progress import Progress, progress_record
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.conflicts.settings import Brought, DetectionSettings
from heliograph.engine.conflicts.step import Mark
from heliograph.kafka.access import Access
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record

WINDOW_MS, LATENESS_MS, WAIT_MAX_MS = 5_000, 100, 60_000
Places = dict[str, dict[int, int]]


class NoSurroundings:
    """No topics, and no flows."""

    def look(self) -> Scope:
        """Nothing."""
        return Scope()

    def brought(self) -> Brought:
        """Nothing."""
        return Brought(0)

    def hang_up(self) -> None:
        """There is no connection."""


def settings(
    access: Access | None = None, alias: str = "eu", start: int = EARLIEST, tasks: int = 2
) -> DetectionSettings:
    """Detection on a cluster."""
    return DetectionSettings(
        alias, access or Access(alias, ["nowhere:9092"]), Bounds(WINDOW_MS), LastWriterWins, LATENESS_MS, WAIT_MAX_MS,
        start, tasks,
    )  # fmt: skip


def mark(watermark_ms: int = 0, oldest_ms: int | None = None, cuts: Iterable[CutKey] = ()) -> Mark:
    """Where a bucket stands."""
    return Mark(watermark_ms, oldest_ms, 0, 0, 0, list(cuts))


def written(task: int, places: Places, buckets: Mapping[int, Mark], run: str = "run", epoch: int = 1) -> Record:
    """What a task has written about its buckets."""
    return progress_record(task, Progress(run, epoch, places, dict(buckets)), 0)


def written_by(tasks: int, places: Places, chosen: Mark) -> list[Record]:
    """What all tasks have written of an epoch, with all buckets alike."""
    return [
        written(task, places, dict.fromkeys((b for b in range(BUCKETS) if b % tasks == task), chosen))
        for task in range(tasks)
    ]
