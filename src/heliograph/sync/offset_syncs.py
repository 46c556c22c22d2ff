"""Which offset syncs to write, by MirrorMaker 2's rules: rarely enough to be cheap, often enough to translate by."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import Run, TopicPartition

_NEVER = -1


class OffsetSyncEmitter:
    """Is told what was mirrored, and tells which syncs to write: some at once, the others with the next commit."""

    def __init__(self, max_lag: int) -> None:
        self._max_lag = max_lag
        self._partitions: dict[TopicPartition, _Progress] = {}
        self._due: dict[TopicPartition, OffsetSync] = {}
        self._delayed: dict[TopicPartition, OffsetSync] = {}

    def mirrored(self, source: TopicPartition, run: Run) -> None:
        """Take note of records that the target has acknowledged: the same as one by one, without the loop."""
        progress = self._partitions.setdefault(source, _Progress())
        synced = progress.advance(run, self._max_lag)
        if synced is not None:
            self._due[source] = _sync(source, run, synced)
            self._delayed.pop(source, None)
        last = run.length - 1
        if synced != last:
            self._delayed[source] = _sync(source, run, last)

    def take_due(self) -> list[OffsetSync]:
        """The syncs to write now, the newest of each partition; they are not given again."""
        taken = list(self._due.values())
        self._due.clear()
        return taken

    def take_all(self) -> list[OffsetSync]:
        """The syncs to write with a commit: also those that were not urgent."""
        self._due |= self._delayed
        self._delayed.clear()
        return self.take_due()


@dataclass
class _Progress:
    """What is known of one source partition."""

    upstream: int = _NEVER
    downstream: int = _NEVER
    synced_downstream: int = _NEVER

    def advance(self, run: Run, max_lag: int) -> int | None:
        """Which record of the run is the last that is due for a sync, counted from 0; None if none is."""
        due = 0 if self._is_first_due(run, max_lag) else None
        if due is not None:
            self.synced_downstream = run.target
        # A sync translates to one past itself, so that the next one is due max_lag records after that.
        step = max_lag + 1
        last = run.target + run.length - 1
        steps = (last - self.synced_downstream) // step
        if steps > 0:
            self.synced_downstream += steps * step
            due = self.synced_downstream - run.target
        self.upstream = run.source + run.length - 1
        self.downstream = last
        return due

    def _is_first_due(self, run: Run, max_lag: int) -> bool:
        is_stale = run.target - (self.synced_downstream + 1) >= max_lag
        is_gap = run.source - self.upstream != 1
        is_rewind = run.target < self.downstream
        return self.synced_downstream == _NEVER or is_stale or is_gap or is_rewind


def _sync(source: TopicPartition, run: Run, index: int) -> OffsetSync:
    return OffsetSync(source, run.source + index, run.target + index)
