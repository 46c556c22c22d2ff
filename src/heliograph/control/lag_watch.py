"""Looks every few seconds how far each partition of a flow is behind its source."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from heliograph.control.ages import first_ages
from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.engine.stability import Stability
from heliograph.kafka import reading
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

_INTERVAL = 5.0
_ASKED_FOR_AGE = 200  # partitions whose first waiting record is looked at; the others are as old as the oldest of these


@dataclass(frozen=True)
class PartitionLag:
    """How far a partition is behind: offsets that are still to be mirrored, and for how long the first has waited."""

    position: int
    end: int
    records: int
    seconds: float


class LagWatch:
    """What was seen last. While the source cannot be asked, what is behind gets older, and nothing looks healthy."""

    def __init__(self, flow: FlowDriver) -> None:
        self._flow = flow
        self._lags: Mapping[TopicPartition, PartitionLag] = {}
        self._looked_at = time.monotonic()
        self._looked_at_ms: int | None = None
        self._stability = Stability()
        self._readable_ms: Mapping[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, tuple[int, float]] = {}  # what is next, and since when it has been seen

    def chore(self) -> Chore:
        """The looking as periodic work."""
        return Chore("lag", _INTERVAL, self.look)

    def lags(self) -> Mapping[TopicPartition, PartitionLag]:
        """The lag of every source partition, as old as it must be by now."""
        stale = self.seconds_since_look()
        if stale <= 2 * _INTERVAL:
            return self._lags
        return {
            where: PartitionLag(lag.position, lag.end, lag.records, lag.seconds + stale)
            for where, lag in self._lags.items()
        }

    def seconds_since_look(self) -> float:
        """How old the answer is."""
        return time.monotonic() - self._looked_at

    @property
    def looked_at_ms(self) -> int | None:
        """When the source was asked for the answer, by the clock; None if it has not been yet."""
        return self._looked_at_ms

    def mirrored_until_ms(self, where: TopicPartition) -> int:
        """All that was written to a partition before this time, in transactions that are open or not, is mirrored."""
        if self._looked_at_ms is None:
            return 0
        lag = self._lags.get(where)
        waits_ms = int(1000 * lag.seconds) if lag is not None and lag.records else 0
        return min(self._looked_at_ms - waits_ms, self._readable_ms.get(where, self._looked_at_ms))

    def look(self) -> str:
        """Ask the source where its partitions end, and how old the first records are that wait."""
        began, now_ms = time.monotonic(), int(time.time() * 1000)
        partitions = [assignment.source for assignment in self._flow.assignments]
        if not partitions:
            if self._flow.in_charge.is_set():  # else it is not known yet what will be mirrored
                self._looked_at, self._looked_at_ms = began, now_ms
            return "nothing is mirrored"
        done = self._flow.mirrored_offsets()
        with opened(self._flow.settings.source, {where.topic for where in partitions}) as (loop, network):
            hidden_ends = reading.list_many(network, dict.fromkeys(partitions, LATEST), READ_UNCOMMITTED)
            ends = reading.list_many(network, dict.fromkeys(partitions, LATEST), READ_COMMITTED)
            suspects = [where for where in partitions if done.get(where, -1) + 1 < ends[where]]
            firsts = reading.list_many(network, dict.fromkeys(suspects, EARLIEST), READ_COMMITTED)
            nexts = {where: max(done.get(where, -1) + 1, firsts.get(where, 0)) for where in suspects}
            behind = sorted((where for where in suspects if nexts[where] < ends[where]), key=nexts.__getitem__)
            ages = first_ages(loop, network, {where: nexts[where] for where in behind[:_ASKED_FOR_AGE]}, ends, now_ms)
        ages |= dict.fromkeys(behind[_ASKED_FOR_AGE:], max(ages.values(), default=0.0))
        ages = self._at_least_as_seen(ages, {where: nexts[where] for where in behind}, began)
        self._lags = {
            where: PartitionLag(done.get(where, -1), ends[where], ends[where] - nexts[where], ages[where])
            if where in ages
            else PartitionLag(done.get(where, -1), ends[where], 0, 0.0)
            for where in partitions
        }
        self._readable_ms = self._stability.times(now_ms, hidden_ends, ends)
        self._looked_at, self._looked_at_ms = began, now_ms
        return f"{len(behind)} of {len(partitions)} partitions behind"

    def _at_least_as_seen(
        self, ages: Mapping[TopicPartition, float], nexts: Mapping[TopicPartition, int], now: float
    ) -> dict[TopicPartition, float]:
        """Ages by our own clock where records do not tell: old formats, markers only, times that lie ahead."""
        before = self._waiting
        self._waiting = {
            where: before[where] if where in before and before[where][0] == offset else (offset, now)
            for where, offset in nexts.items()
        }
        return {where: max(ages.get(where, 0.0), now - since) for where, (_, since) in self._waiting.items()}
