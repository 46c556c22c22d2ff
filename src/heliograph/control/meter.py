"""Counts what a flow mirrors, by target partition: totals since the start, and the last minute."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.model import Latency, LedgerEntry, PartitionProgress, TopicPartition

WINDOW_SECONDS = 60


@dataclass
class _Second:
    """What happened within one second; latencies in milliseconds."""

    at: int
    records: int = 0
    bytes: int = 0
    latency_total: int = 0
    latency_min: int = 1 << 62
    latency_max: int = 0


@dataclass(frozen=True)
class Window:
    """The last minute or less; latencies in milliseconds, from a record's own time to its commit."""

    records_per_second: float = 0.0
    bytes_per_second: float = 0.0
    latency_avg: float = 0.0
    latency_min: float = 0.0
    latency_max: float = 0.0


@dataclass
class PartitionMeter:
    """One target partition, or several together."""

    records: int = 0
    bytes: int = 0
    dropped: int = 0  # records that a transform left out
    failed: int = 0  # records that could not be transformed
    latency_ms: int = 0  # of the newest record
    last_commit_ms: int = 0
    _seconds: deque[_Second] = field(default_factory=deque)

    def add(self, progress: PartitionProgress, committed_ms: int) -> None:
        """Count what a transaction did."""
        count = progress.record_count
        self.records += count
        self.bytes += progress.byte_count
        self.dropped += progress.dropped
        self.failed += progress.failed
        self.last_commit_ms = committed_ms
        if not count:
            return
        latency = progress.latency or Latency(
            max(0, committed_ms - progress.newest_timestamp),
            committed_ms - progress.oldest_timestamp,
            max(0, committed_ms - progress.mean_timestamp) * count,
        )
        self.latency_ms = latency.newest
        second = self._second(committed_ms // 1000)
        second.records += count
        second.bytes += progress.byte_count
        second.latency_total += latency.total
        second.latency_min = min(second.latency_min, latency.newest)
        second.latency_max = max(second.latency_max, latency.longest)

    def window(self, now_ms: int, seconds: int = WINDOW_SECONDS) -> Window:
        """What the last seconds brought, at most a minute."""
        found = [second for second in list(self._seconds) if second.at > now_ms // 1000 - seconds]
        return _summary(found, seconds)

    def _second(self, at: int) -> _Second:
        if not self._seconds or self._seconds[-1].at < at:
            self._seconds.append(_Second(at))
            while self._seconds[0].at <= at - WINDOW_SECONDS:
                self._seconds.popleft()
        return self._seconds[-1]


def _summary(found: Sequence[_Second], seconds: int) -> Window:
    if not found:
        return Window()
    records = sum(second.records for second in found)
    return Window(
        records / seconds,
        sum(second.bytes for second in found) / seconds,
        sum(second.latency_total for second in found) / records,
        min(second.latency_min for second in found),
        max(second.latency_max for second in found),
    )


@dataclass
class VerifiedMeter:
    """What continuous verification has done, and since when the oldest of what it has not compared yet is committed."""

    is_on: bool = False
    records: int = 0
    bytes: int = 0  # of the source's log
    passed_over_bytes: int = 0
    mismatches: int = 0
    oldest_waiting_ms: int = 0

    def lag_seconds(self, now_ms: int) -> float:
        """How long the oldest record that waits to be compared has been mirrored; 0 if none waits."""
        return max(0, now_ms - self.oldest_waiting_ms) / 1000 if self.oldest_waiting_ms else 0.0


class FlowMeter:
    """All target partitions of a flow; is told of every transaction."""

    def __init__(self) -> None:
        self.transactions = 0
        self.followers: list[Callable[[LedgerEntry], None]] = []  # told of every transaction, for as long as this lives
        self.checkpoint_ms: dict[tuple[str, TopicPartition], float] = {}  # by group and target partition
        self.whole = PartitionMeter()
        self.verified = VerifiedMeter()
        self._partitions: dict[TopicPartition, PartitionMeter] = {}
        self._lock = threading.Lock()

    def mirrored(self, entry: LedgerEntry) -> None:
        """Count a transaction; from any thread."""
        with self._lock:
            self.transactions += 1
            for progress in entry.partitions:
                self._partitions.setdefault(progress.target, PartitionMeter()).add(progress, entry.committed_at_ms)
                self.whole.add(progress, entry.committed_at_ms)
        for follower in self.followers:
            follower(entry)

    def wrote_checkpoints(self, written: Sequence[Checkpoint], milliseconds: float) -> None:
        """Note how long it took to write checkpoints."""
        with self._lock:
            for item in written:
                self.checkpoint_ms[item.group, item.target] = milliseconds

    def partitions(self) -> dict[TopicPartition, PartitionMeter]:
        """All partitions that have been written to."""
        with self._lock:
            return dict(self._partitions)
