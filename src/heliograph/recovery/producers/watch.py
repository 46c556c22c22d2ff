"""Waits until nobody writes to the source any more, and tells who still does."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from heliograph.errors import BrokerUnavailable, ClusterError, StillWriting
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import OpenTransaction
from heliograph.model import TopicPartition
from heliograph.recovery.steps.step import Tell

_LOOK_SECONDS: Final = 0.5
_LOOKS_A_WAIT: Final = 5  # short waits are looked at more often
_NAMED: Final = 5


@dataclass(frozen=True)
class Writing:
    """What goes on at the source: records per second of topics that grow, and transactions that have not ended.

    `unfinished` are partitions whose transactions have not ended; of some of them we may not see who has begun them.
    `trouble` says why nobody could look.
    """

    growing: Mapping[str, float] = field(default_factory=dict)
    unfinished: tuple[TopicPartition, ...] = ()
    transactions: tuple[OpenTransaction, ...] = ()
    quiet_seconds: float = 0.0
    trouble: str = ""

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is written, as far as could be seen."""
        return not (self.growing or self.unfinished or self.trouble)

    @property
    def topics(self) -> list[str]:
        """The topics that somebody still writes to."""
        return sorted({*self.growing, *(where.topic for where in self.unfinished)})

    def __str__(self) -> str:
        parts = [self.trouble] if self.trouble else []
        if self.growing:
            fastest = sorted(self.growing.items(), key=lambda item: (-item[1], item[0]))
            parts.append(f"still growing: {_some([f'{topic} ({rate:.0f} records/s)' for topic, rate in fastest])}")
        if self.unfinished:
            known = {(item.topic, item.partition) for item in self.transactions}
            others = [f"somebody in {where}" for where in self.unfinished if tuple(where) not in known]
            parts.append(f"open transactions: {_some([*map(str, self.transactions), *others])}")
        return "; ".join(parts) or f"quiet for {self.quiet_seconds:.1f} s"


class ProducerWatch:
    """Watches the ends of partitions of the source."""

    def __init__(self, source: Admin, partitions: Collection[TopicPartition]) -> None:
        self._source = source
        self._partitions = list(partitions)

    def quiet_for(self, seconds: float, timeout: float, tell: Tell = lambda _: None) -> Mapping[TopicPartition, int]:
        """Wait until no end has moved for so long and no transaction is open; returns the ends.

        `tell` hears of every look. Raises StillWriting, naming topics, when that does not come about in time.
        """
        deadline = time.monotonic() + timeout
        last: _Look | None = None
        heard: Writing | None = None  # the last time; a producer that writes now and then may rest when time is up
        quiet_since = 0.0
        while True:
            look = self._look()
            writing = self._compare(last, look)
            if not writing.is_quiet:
                heard = writing
            if last is None or last.trouble or not writing.is_quiet:
                quiet_since = look.seen
            writing = replace(writing, quiet_seconds=max(look.asked - quiet_since, 0.0))
            tell(str(writing))
            if writing.is_quiet and writing.quiet_seconds >= seconds:
                return look.ends
            if time.monotonic() >= deadline:
                raise StillWriting(_complaint(heard or writing, seconds, timeout))
            last = look
            time.sleep(min(_LOOK_SECONDS, seconds / _LOOKS_A_WAIT))

    def _look(self) -> _Look:
        asked = time.monotonic()
        try:
            ends = self._source.end_offsets(self._partitions)
            seen = time.monotonic()
            stable = self._source.stable_offsets(self._partitions)
        except BrokerUnavailable as error:  # one that comes back has lost nothing: the wait begins anew
            return _Look(asked, time.monotonic(), trouble=f"cannot look: {error}")
        return _Look(asked, seen, ends, tuple(where for where, end in ends.items() if stable[where] < end))

    def _compare(self, last: _Look | None, look: _Look) -> Writing:
        growth: dict[str, int] = {}
        for where, end in look.ends.items():
            moved = end - last.ends.get(where, end) if last else 0
            if moved:
                growth[where.topic] = growth.get(where.topic, 0) + abs(moved)
        seconds = max(look.seen - last.seen, 0.001) if last else 1.0
        return Writing(
            {topic: moved / seconds for topic, moved in growth.items()},
            look.unfinished,
            self._transactions(look.unfinished),
            trouble=look.trouble,
        )

    def _transactions(self, partitions: Collection[TopicPartition]) -> tuple[OpenTransaction, ...]:
        try:
            return tuple(self._source.open_transactions(partitions))
        except ClusterError:  # the wait goes on without their names
            return ()


@dataclass(frozen=True)
class _Look:
    """What was found between two moments: the ends were those at some time after `asked` and before `seen`."""

    asked: float
    seen: float
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    unfinished: tuple[TopicPartition, ...] = ()
    trouble: str = ""


def _complaint(writing: Writing, seconds: float, timeout: float) -> str:
    return f"producers did not stop for {seconds:g} s within {timeout:g} s: {writing}"


def _some(items: Sequence[str]) -> str:
    more = len(items) - _NAMED
    return ", ".join(items[:_NAMED]) + (f" and {more} more" if more > 0 else "")
