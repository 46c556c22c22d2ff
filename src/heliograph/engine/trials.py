"""When partitions that were set aside are tried again.

What the target refuses costs all partitions of a lane an attempt. So those that it has refused before are let in a few
at a time: more and more, as long as something becomes known of all of them. All others are let in at once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection

from heliograph.model import TopicPartition

REFUSED, TAKES_NOTHING = "the target refuses", "the target takes nothing"  # how reasons begin that cost an attempt
_FIRST_COUNT = 8
_PAUSE_SECONDS = 2.0  # until those that nothing was heard of count as well
_SHARE_OF_REST = 60  # the longer the rest between two rounds, the longer each of them may take
_LONGEST_REST = 600.0

Aside = dict[TopicPartition, str]


class Trials:
    """Takes partitions out of those that are set aside, and puts them back; times are handed in."""

    def __init__(self, aside: Aside, first_rest: float) -> None:
        """`aside`: what is set aside, with reasons, from now on and at first; that is tried as soon as may be."""
        self._aside = aside
        self._rest = first_rest
        self._waiting = deque(aside)  # those of this round that were not tried yet
        self._trying: dict[TopicPartition, str] = {}  # let in last, with their reasons; nothing is known of them yet
        self._count = _FIRST_COUNT
        self._at = -math.inf if aside else math.inf

    def is_due(self, now: float) -> bool:
        """Whether partitions are to be let in now. What was set aside meanwhile has to rest first."""
        if self._aside and self._at == math.inf:
            self._at = now + self._rest
            self._rest = min(2 * self._rest, _LONGEST_REST)
        return now >= self._at

    def let_in(self, now: float) -> None:
        """Take the next ones out; a new round begins when all have been tried."""
        if self._trying:
            self._count *= 2
        if not self._waiting:
            self._begin_round()
        chosen = [self._waiting.popleft() for _ in range(min(self._count, len(self._waiting)))]
        self._trying = {where: self._aside.pop(where) for where in chosen if where in self._aside}
        self._wait(now)

    def went_on(self, sources: Collection[TopicPartition], now: float) -> None:
        """These have been copied: when all do that were let in, others need not wait any longer."""
        if self._trying.keys() & set(sources):
            self._trying = {where: reason for where, reason in self._trying.items() if where not in sources}
            if not self._trying:
                self._count *= 2
                self._at = now if self._waiting else self._at

    def refused(self, sources: Collection[TopicPartition], now: float) -> None:
        """These were set aside again: with them all of which nothing is known, so that a trial costs one attempt."""
        self._waiting = deque(where for where in self._waiting if where not in sources)
        if not self._trying.keys() & set(sources):
            return
        back = {where: reason for where, reason in self._trying.items() if where not in self._aside}
        self._count = max(_FIRST_COUNT, len(self._trying) - len(back)) if back else 2 * self._count
        self._aside |= back
        self._waiting.extendleft(reversed(back))
        self._trying = {}
        self._wait(now)

    def _begin_round(self) -> None:
        self._waiting = deque(where for where, reason in self._aside.items() if costs_an_attempt(reason))
        for where in self._aside.keys() - set(self._waiting):
            del self._aside[where]

    def _wait(self, now: float) -> None:
        pause = max(_PAUSE_SECONDS, self._rest / _SHARE_OF_REST)
        self._at = now + pause if self._waiting else math.inf


def costs_an_attempt(reason: str) -> bool:
    """Whether who was set aside for this may end the attempt of all others when it is tried again."""
    return reason.startswith((REFUSED, TAKES_NOTHING))
