"""How far the next epoch reads: all that is there, or as much of it as one epoch should take, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from heliograph.engine.tables.ranges import limited
from heliograph.model import TopicPartition

Offsets = Mapping[TopicPartition, int]

_FINEST_MS = 50
_MOST_QUESTIONS = 48


class Reach(NamedTuple):
    """Where an epoch ends, and the time before which everything has been read then."""

    ends: Offsets
    complete_ms: int


def reach(
    places: Offsets, latest: Offsets, at_time: Callable[[int], Offsets], after_ms: int, until_ms: int, most: int
) -> Reach:
    """Read to the end, if that is not too much; else up to a time, the same in all partitions.

    The time lies after the one that was reached before, and never after the one until which all has been brought here:
    what is newer need not be taken in before its time has come.
    """
    if _size(places, latest) <= most:
        return Reach(latest, until_ms)
    low, high = min(after_ms, until_ms), until_ms
    best = at_time(high)
    if _size(places, best) <= most:
        return Reach(_not_before(places, best), high)
    for _ in range(_MOST_QUESTIONS):
        if high - low <= _FINEST_MS:
            break
        middle = (low + high) // 2
        found = at_time(middle)
        if _size(places, found) <= most:
            low = middle
        else:
            high, best = middle, found
    fitting = at_time(low)
    if _size(places, fitting):  # more than fits only if it is older than what was reached before: no need for order
        return Reach(_not_before(places, limited(places, fitting, most)), low)
    return Reach(_not_before(places, best), high)  # too much of the same time: it is taken as a whole


def _size(places: Offsets, ends: Offsets) -> int:
    return sum(max(0, end - places.get(where, end)) for where, end in ends.items())


def _not_before(places: Offsets, ends: Offsets) -> Offsets:
    return {where: max(end, places.get(where, end)) for where, end in ends.items()}
