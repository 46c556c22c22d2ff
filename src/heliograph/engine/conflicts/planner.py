"""Plans the epochs of one run of detection: from where to where they read, and what they tell the buckets."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from heliograph.conflicts.bucket import BUCKETS
from heliograph.conflicts.timeline import NO_WATERMARK
from heliograph.engine.cluster_log import ClusterLog, Offsets
from heliograph.engine.conflicts.pacing import reach
from heliograph.engine.conflicts.progress import KnownProgress
from heliograph.engine.conflicts.read_task import ReadTask
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.conflicts.settings import DetectionSettings
from heliograph.engine.conflicts.step import Tick, encode
from heliograph.engine.stability import Stability
from heliograph.engine.tables.ranges import OffsetRange, cut
from heliograph.kafka.reading import LATEST
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

_MOST = 200_000  # offsets in one epoch


@dataclass(frozen=True)
class Epoch:
    """What an epoch reads, and where that leaves detection."""

    number: int = 0
    ends: Offsets = field(default_factory=dict)
    watermark_ms: int = NO_WATERMARK
    tasks: Sequence[bytes] = ()


class Planner:
    """Begins where the last run has ended. What buckets had not settled then is read again in the first epoch."""

    def __init__(self, settings: DetectionSettings, cluster_log: ClusterLog, known: KnownProgress, run: str) -> None:
        self._settings = settings
        self._log = cluster_log
        self._known = known
        self._run = run
        self._stability = Stability()
        self._epoch = Epoch(watermark_ms=NO_WATERMARK if known.watermark_ms is None else known.watermark_ms)

    @property
    def epoch(self) -> Epoch:
        """The epoch that was planned last."""
        return self._epoch

    def plan(self, scope: Scope, brought_until_ms: int, settles_after_ms: int | None) -> bool:
        """Plan the next epoch, now that the last one is over; whether there is anything to do.

        All that was written elsewhere before `brought_until_ms` was on the cluster before this was called. A watermark
        after `settles_after_ms` settles something, also if nothing new is read.
        """
        latest, until_ms = self._readable(scope, brought_until_ms)
        starts, at_least = self._starts(latest)
        before = self._epoch
        after_ms = max(0, before.watermark_ms + self._settings.lateness_ms)
        ends, complete_ms = reach(
            starts, latest, lambda time_ms: self._log.at_time(latest, time_ms), after_ms, until_ms, _MOST
        )
        ends = {where: max(end, starts[where], at_least.get(where, 0)) for where, end in ends.items()}
        watermark_ms = max(before.watermark_ms, complete_ms - self._settings.lateness_ms)
        has_news = any(end > starts[where] for where, end in ends.items())
        is_due = settles_after_ms is not None and watermark_ms > settles_after_ms
        if not (has_news or is_due or before.number == 0):
            return False
        number = before.number + 1
        tasks = self._tasks(number, scope, starts, ends, self._ticks(number, scope, ends, watermark_ms))
        self._epoch = Epoch(number, {**before.ends, **ends}, watermark_ms, tasks)
        return True

    def _readable(self, scope: Scope, brought_until_ms: int) -> tuple[Offsets, int]:
        """Where partitions end for readers, and up to when everything is before that."""
        now_ms = int(time.time() * 1000)
        ends = self._log.ends(scope.partitions)
        latest = self._log.latest(scope.partitions)
        until_ms = min(brought_until_ms, self._stability.until_ms(now_ms, ends, latest))
        return latest, max(until_ms, now_ms - self._settings.wait_max_ms)

    def _starts(self, latest: Offsets) -> tuple[Offsets, Offsets]:
        """Where the next epoch begins to read, and how far it must read at least."""
        if self._epoch.number == 0:
            return self._first_starts(latest)
        known = self._epoch.ends
        return {**self._log.earliest(latest.keys() - known.keys()), **{w: known[w] for w in latest if w in known}}, {}

    def _first_starts(self, latest: Offsets) -> tuple[Offsets, Offsets]:
        """A bucket that is ahead of others knows what it has seen in the first epoch only: that reads up to there."""
        known = self._known.read_to()
        if not known and self._settings.start == LATEST:
            return dict(latest), {}
        earliest = self._log.earliest(latest)
        oldest_ms = self._known.oldest_ms()
        oldest = latest if oldest_ms is None else self._log.at_time(latest, oldest_ms)
        starts = {
            w: max(earliest[w], min(self._first_unread(w, known.get(w), earliest[w], end), oldest[w]))
            for w, end in latest.items()
        }
        return starts, {w: min(most, latest[w]) for w, (_, most) in known.items() if w in latest}

    def _first_unread(self, where: TopicPartition, known: tuple[int, int] | None, earliest: int, end: int) -> int:
        if known is None:
            return earliest
        if earliest <= known[0] <= end:
            return known[0]
        log.error(
            "%s: %s was read to offset %d, but holds %d to %d now: it is read from its beginning",
            self._settings.name, where, known[0], earliest, end,
        )  # fmt: skip
        return earliest

    def _ticks(self, number: int, scope: Scope, ends: Offsets, watermark_ms: int) -> list[tuple[int, bytes]]:
        places: dict[str, dict[int, int]] = {}
        for where, end in {**self._epoch.ends, **ends}.items():
            places.setdefault(where.topic, {})[where.partition] = end
        tick = Tick(self._run, number, int(time.time() * 1000), watermark_ms, places, dict(scope.topic_ids))
        if number > 1:
            same = encode(tick)
            return [(bucket, same) for bucket in range(BUCKETS)]
        known = self._known
        return [(b, encode(structs.replace(tick, resumption=known.resumption(b)))) for b in range(BUCKETS)]

    def _tasks(
        self, epoch: int, scope: Scope, starts: Offsets, ends: Offsets, ticks: Sequence[tuple[int, bytes]]
    ) -> list[bytes]:
        count = self._settings.tasks
        ranges = _dealt(cut(starts, ends, count), count)
        views = scope.views if self._epoch.number == 0 else {}
        view_ranges = _dealt(self._view_ranges(views), count)
        access, origins = self._settings.access, scope.origins
        return [
            ReadTask(access, ranges[n], origins, () if n else ticks, views, view_ranges[n], epoch).packed()
            for n in range(count)
            if n == 0 or ranges[n] or view_ranges[n]
        ]

    def _view_ranges(self, views: Mapping[str, str]) -> list[OffsetRange]:
        partitions = self._log.partitions(views)
        ends = self._log.latest(partitions)
        return cut(self._log.earliest(partitions), ends, 1)


def _dealt(ranges: Sequence[OffsetRange], count: int) -> list[list[OffsetRange]]:
    """The largest first, each to the task with the least to read so far."""
    dealt: list[list[OffsetRange]] = [[] for _ in range(count)]
    sizes = [0] * count
    for item in sorted(ranges, key=lambda item: item.first - item.end):
        lightest = sizes.index(min(sizes))
        dealt[lightest].append(item)
        sizes[lightest] += item.end - item.first
    return dealt
