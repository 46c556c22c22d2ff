"""Remembers of one flow what cannot be seen by looking at it now and then."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from heliograph.control.chores import ChoreReport
from heliograph.control.lag_watch import PartitionLag
from heliograph.control.metrics.histogram import Histogram
from heliograph.control.metrics.metric import Distribution
from heliograph.control.running_flow import RunningFlow
from heliograph.model import EventKind, LedgerEntry, TopicPartition

_COMMIT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_RECORDS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
_BYTES = tuple(float(4**power) for power in range(4, 15))  # 256 B to 256 MiB
_MINUTE = 60.0
_AHEAD_SECONDS = 300.0


@dataclass
class _Stand:
    """Where a partition stands, and since when."""

    position: int
    since: float


class FlowRecorder:
    """Follows the transactions of a flow from when it is made on, and how its partitions and chores stand."""

    def __init__(self, flow: RunningFlow) -> None:
        self._flow = flow
        self._lock = threading.Lock()
        self._owned_at = time.monotonic()
        self._began_ms = int(time.time() * 1000)
        self._commit_seconds = Histogram(_COMMIT_SECONDS)
        self._records = Histogram(_RECORDS)
        self._bytes = Histogram(_BYTES)
        self._events = Counter(dict.fromkeys(EventKind, 0))
        self._events.update(event.kind for event in flow.events())
        self._newest_events = dict.fromkeys(EventKind, 0)
        for event in flow.events():
            self._newest_events[event.kind] = max(self._newest_events[event.kind], event.at_ms)
        self._ahead: deque[tuple[float, float]] = deque()  # when, and by how many seconds; the largest first
        self._stands: dict[TopicPartition, _Stand] = {}
        self._successes: dict[str, int] = {}  # of chores, which forget theirs when they are begun anew
        self._checkpoints: dict[tuple[str, TopicPartition], deque[tuple[float, float]]] = {}
        flow.meter.followers.append(self.mirrored)

    # -- told, from any thread ------------------------------------------------------------------------------------

    def mirrored(self, entry: LedgerEntry) -> None:
        """Take in a transaction."""
        with self._lock:
            self._events.update(event.kind for event in entry.events)
            self._newest_events |= {event.kind: entry.written_at_ms for event in entry.events}
            if not entry.partitions:
                return
            self._commit_seconds.observe(max(0, entry.committed_at_ms - entry.written_at_ms) / 1000)
            self._records.observe(entry.record_count)
            self._bytes.observe(sum(progress.byte_count for progress in entry.partitions))
            newest = max(progress.newest_timestamp for progress in entry.partitions)
            self._note_ahead((newest - entry.committed_at_ms) / 1000)

    def _note_ahead(self, seconds: float) -> None:
        now = time.monotonic()
        while self._ahead and self._ahead[-1][1] <= seconds:
            self._ahead.pop()
        self._ahead.append((now, seconds))
        while self._ahead[0][0] < now - _AHEAD_SECONDS:
            self._ahead.popleft()

    # -- asked ----------------------------------------------------------------------------------------------------

    def commit_seconds(self) -> Distribution:
        """How long transactions took from their last record to their end."""
        with self._lock:
            return self._commit_seconds.distribution()

    def transaction_records(self) -> Distribution:
        """How many records they held."""
        with self._lock:
            return self._records.distribution()

    def transaction_bytes(self) -> Distribution:
        """How many bytes they held."""
        with self._lock:
            return self._bytes.distribution()

    def events(self) -> Mapping[EventKind, int]:
        """How often each kind of event has happened."""
        with self._lock:
            return dict(self._events)

    def newest_events(self) -> Mapping[EventKind, int]:
        """When each kind of event has happened last, in milliseconds; 0 if never."""
        with self._lock:
            return dict(self._newest_events)

    def seconds_ahead(self) -> float | None:
        """How far ahead of this machine's clock the newest record of the last minutes was; None without records."""
        with self._lock:
            recent = [seconds for at, seconds in self._ahead if at >= time.monotonic() - _AHEAD_SECONDS]
            return max(0.0, max(recent)) if recent else None

    def unowned_seconds(self) -> float:
        """For how long the flow has not been ours: 0 while it is, or if it is not meant to be."""
        driver = self._flow.driver
        if driver is None or (driver.in_charge.is_set() and not self._flow.has_ended()):
            self._owned_at = time.monotonic()
        return time.monotonic() - self._owned_at

    def stalled_seconds(
        self, lags: Mapping[TopicPartition, PartitionLag], positions: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, float]:
        """For how long each partition has stood still, as far as seen, although records wait; 0 if none do."""
        now = time.monotonic()
        found: dict[TopicPartition, float] = {}
        stands: dict[TopicPartition, _Stand] = {}
        for where, lag in lags.items():
            position = positions.get(where, -1)
            stand = self._stands.get(where)
            waits = lag.records > 0 and position + 1 < lag.end
            if stand is None or not waits or stand.position != position:
                stand = _Stand(position, now)
            stands[where] = stand
            found[where] = now - stand.since
        self._stands = stands
        return found

    def last_successes_ms(self, reports: Iterable[ChoreReport]) -> dict[str, int]:
        """When each chore last went well; when the looking began for those that never did."""
        for report in reports:
            self._successes[report.name] = max(self._successes.get(report.name, 0), report.last_success_ms)
        return {name: at_ms or self._began_ms for name, at_ms in self._successes.items()}

    def checkpoint_milliseconds(self) -> dict[tuple[str, TopicPartition], tuple[float, list[float]]]:
        """For each group and target partition how long its last checkpoint took, and what was seen in a minute."""
        now = time.monotonic()
        current = self._flow.meter.checkpoint_ms.copy()
        kept: dict[tuple[str, TopicPartition], deque[tuple[float, float]]] = {}
        for key, milliseconds in current.items():
            seen = kept[key] = self._checkpoints.get(key, deque())
            seen.append((now, milliseconds))
            while seen[0][0] < now - _MINUTE:
                seen.popleft()
        self._checkpoints = kept
        return {key: (current[key], [value for _, value in seen]) for key, seen in kept.items()}
