"""Since when nothing is hidden: records of open transactions are there, but nobody may read them yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from heliograph.model import TopicPartition

Offsets = Mapping[TopicPartition, int]


class Stability:
    """Remembers where partitions ended when they were looked at."""

    def __init__(self) -> None:
        self._looks: dict[TopicPartition, deque[tuple[int, int]]] = {}  # when, and the end with open transactions

    def until_ms(self, now_ms: int, ends: Offsets, readable: Offsets) -> int:
        """All that was written before this time, to whichever partition, can be read by now."""
        return min(self.times(now_ms, ends, readable).values(), default=now_ms)

    def times(self, now_ms: int, ends: Offsets, readable: Offsets) -> dict[TopicPartition, int]:
        """For each partition: all that was written before this time can be read by now.

        The ends, with what is in open transactions, were asked for after `now_ms`, and what can be read after that.
        """
        return {where: self._time(where, now_ms, end, readable[where]) for where, end in ends.items()}

    def _time(self, where: TopicPartition, now_ms: int, end: int, readable: int) -> int:
        looks = self._looks.setdefault(where, deque())
        looks.append((now_ms, end))
        while len(looks) > 1 and looks[1][1] <= readable:
            looks.popleft()
        seen_ms, seen_end = looks[0]
        return seen_ms if seen_end <= readable else 0
