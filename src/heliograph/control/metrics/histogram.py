"""Counts values by size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from heliograph.control.metrics.metric import Distribution


class Histogram:
    """How often values up to each bound were seen; guarded by whoever owns it."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self._total = 0.0

    def observe(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def distribution(self) -> Distribution:
        """What has been counted so far."""
        return Distribution(self._bounds, tuple(self._counts), round(self._total, 6))
