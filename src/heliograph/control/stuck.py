"""Notices partitions that nobody copies, though the lane that has them lives and says that there is nothing to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from heliograph.control.lag_watch import PartitionLag
from heliograph.engine.pulse import IDLE
from heliograph.model import Assignment, TopicPartition

STUCK_SECONDS = 60.0


class StuckPartitions:
    """Remembers since when each partition has records that wait while its lane is idle; times are handed in."""

    def __init__(self) -> None:
        self._since: dict[TopicPartition, tuple[int, float]] = {}  # its position, and since when it has been seen there

    def look(
        self,
        now: float,
        lags: Mapping[TopicPartition, PartitionLag],
        lanes: Sequence[Sequence[Assignment]],
        doings: Mapping[int, str],
        set_aside: Collection[TopicPartition],
    ) -> list[TopicPartition]:
        """Those that have waited in vain for a minute. One whose lane waits for something named is none of them."""
        idle = [item.source for number, items in enumerate(lanes) if doings.get(number) == IDLE for item in items]
        waiting = {
            where: lags[where].position
            for where in idle
            if where not in set_aside and where in lags and lags[where].records
        }
        before = self._since
        self._since = {
            where: before[where] if where in before and before[where][0] == position else (position, now)
            for where, position in waiting.items()
        }
        return sorted(where for where, (_, since) in self._since.items() if now - since >= STUCK_SECONDS)

    def forget(self) -> None:
        """Begin anew: nothing is known, or something was done about it."""
        self._since = {}
