"""Looks every few seconds how far each partition of a flow is behind its source."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heliograph.control.ages import first_ages
from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.engine.stability import Stability
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

_INTERVAL = 5.0
_ASKED_FOR_AGE = 200  # partitions whose first waiting record is looked at; the others are as old as the oldest of these


@dataclass(frozen=True)
class PartitionLag:
    """How far a partition is behind: offsets that are still to be mirrored, and for how long the first has waited."""

    position: int
    end: int
    records: int
    seconds: float


@dataclass(frozen=True)
class LeftOut:
    """A partition that could not be asked at the last look: why, and when the last look was that could."""

    why: str
    seen_at: float


class LagWatch:
    """What was seen last. While the source cannot be asked, what is behind gets older, and nothing looks healthy.

    So it is with a single partition that cannot be asked, for it has no leader or its topic is gone: it is left out,
    and said so, and what was seen of it before gets older.
    """

    def __init__(self, flow: FlowDriver) -> None:
        self._flow = flow
        self.left_out: Mapping[TopicPartition, LeftOut] = {}
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
        if stale <= 2 * _INTERVAL and not self.left_out:
            return self._lags
        return {where: self._aged(where, lag, stale) for where, lag in self._lags.items()}

    def _aged(self, where: TopicPartition, lag: PartitionLag, stale: float) -> PartitionLag:
        stale += self._unseen_before_look(where)
        return lag if stale <= 2 * _INTERVAL else replace(lag, seconds=lag.seconds + stale)

    def _unseen_before_look(self, where: TopicPartition) -> float:
        """How old what is known of a partition was at the last look."""
        left_out = self.left_out.get(where)
        return 0.0 if left_out is None else self._looked_at - left_out.seen_at

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
        waits_ms = int(1000 * (lag.seconds + self._unseen_before_look(where))) if lag is not None and lag.records else 0
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
        with opened(self._flow.settings.source) as (loop, network):
            look = _Look.at(network, partitions, done)
            if not look.ends:
                where, why = next(iter(look.failures.items()))
                raise BrokerUnavailable(f"{network.access.alias} {where}: {why}")
            behind = look.behind
            nexts = {where: look.nexts[where] for where in behind[:_ASKED_FOR_AGE]}
            ages = first_ages(loop, network, nexts, look.ends, now_ms)
        ages |= dict.fromkeys(behind[_ASKED_FOR_AGE:], max(ages.values(), default=0.0))
        ages = self._at_least_as_seen(ages, self._still_waiting(look), began)
        seen = {
            where: PartitionLag(done.get(where, -1), end, end - look.nexts[where], ages[where])
            if where in look.waiting
            else PartitionLag(done.get(where, -1), end, 0, 0.0)
            for where, end in look.ends.items()
        }
        self._leave_out(look.failures)
        # What is known of the others stays as it was.
        self._lags = seen | {where: lag for where, lag in self._lags.items() if where in self.left_out}
        times = self._stability.times(now_ms, look.hidden_ends, look.ends)
        self._readable_ms = times | {where: self._readable_ms.get(where, 0) for where in self.left_out}
        self._looked_at, self._looked_at_ms = began, now_ms
        return f"{len(behind)} of {len(partitions)} partitions behind{_named(look.failures)}"

    def _leave_out(self, failures: Mapping[TopicPartition, str]) -> None:
        if failures.keys() - self.left_out.keys():
            log.warning("%s: how far the source is, is known only in part%s", self._flow.name, _named(failures))
        elif self.left_out and not failures:
            log.info("%s: how far the source is, is known of all partitions again", self._flow.name)
        before = self.left_out
        self.left_out = {
            where: LeftOut(why, before[where].seen_at if where in before else self._looked_at)
            for where, why in failures.items()
        }

    def _still_waiting(self, look: _Look) -> dict[TopicPartition, int]:
        """What is next where something waits; also of those that cannot be asked now, so that their age is kept."""
        kept = {where: self._waiting[where][0] for where in look.failures if where in self._waiting}
        return kept | {where: look.nexts[where] for where in look.behind}

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


@dataclass(frozen=True)
class _Look:
    """What the source says now."""

    hidden_ends: Mapping[TopicPartition, int]  # with what is in open transactions
    ends: Mapping[TopicPartition, int]
    nexts: Mapping[TopicPartition, int]  # of those that may be behind
    failures: Mapping[TopicPartition, str]  # why others could not be asked

    @classmethod
    def at(cls, network: Network, partitions: Sequence[TopicPartition], done: Mapping[TopicPartition, int]) -> _Look:
        """Ask, each time those that have answered before."""
        hidden = reading.list_reachable(network, dict.fromkeys(partitions, LATEST), READ_UNCOMMITTED)
        readable = reading.list_reachable(network, dict.fromkeys(hidden.offsets, LATEST), READ_COMMITTED)
        suspects = [where for where, end in readable.offsets.items() if done.get(where, -1) + 1 < end]
        firsts = reading.list_reachable(network, dict.fromkeys(suspects, EARLIEST), READ_COMMITTED)
        failures = hidden.failures | readable.failures | firsts.failures
        asked = [where for where in partitions if where not in failures]
        return cls(
            {where: hidden.offsets[where] for where in asked},
            {where: readable.offsets[where] for where in asked},
            {where: max(done.get(where, -1) + 1, first) for where, first in firsts.offsets.items()},
            failures,
        )

    @property
    def waiting(self) -> set[TopicPartition]:
        """Where something waits."""
        return {where for where, offset in self.nexts.items() if offset < self.ends[where]}

    @property
    def behind(self) -> list[TopicPartition]:
        """The same, those that are furthest back first."""
        return sorted(self.waiting, key=self.nexts.__getitem__)


def _named(failures: Mapping[TopicPartition, str]) -> str:
    """The first of those that cannot be asked."""
    if not failures:
        return ""
    where, why = min(failures.items())
    others = f" and {len(failures) - 1} more" if len(failures) > 1 else ""
    return f"; not asked: {where} ({why}){others}"
