"""The last hour of a flow, point by point, for charts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heliograph.control.chores import Chore

_INTERVAL = 5.0
_POINTS = 720


@dataclass(frozen=True)
class Point:
    """How a flow stood at one moment; rates and latencies over the ten seconds before."""

    at_ms: int
    lag_records: int
    lag_seconds: float
    records_per_second: float
    bytes_per_second: float
    latency_avg_ms: float
    latency_max_ms: float


class History:
    """Takes a point every few seconds, and forgets the oldest."""

    def __init__(self, measure: Callable[[], Point]) -> None:
        self._measure = measure
        self._points: deque[Point] = deque(maxlen=_POINTS)

    def chore(self) -> Chore:
        """The measuring as periodic work."""
        return Chore("history", _INTERVAL, self.take)

    def take(self) -> str:
        """Take a point."""
        self._points.append(self._measure())
        return ""

    def points(self) -> Sequence[Point]:
        """All points, the oldest first."""
        return list(self._points)
