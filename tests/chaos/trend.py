"""Whether figures that were taken again and again grow: a straight line through all of them, by least squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import linear_regression
from typing import NamedTuple

_HOUR = 3600.0


class Bound(NamedTuple):
    """How much the line may rise: by nature in an hour, and by chance in any time, such as the teeth of a saw."""

    per_hour: float
    by_chance: float

    def allows(self, slope: float, seconds: float) -> bool:
        """Whether a figure that rises by `slope` in an hour counts as flat, seen for so many seconds."""
        return slope * seconds / _HOUR <= self.per_hour * seconds / _HOUR + self.by_chance


def growth_per_hour(times: Sequence[float], values: Sequence[float]) -> float:
    """The slope of the line; `times` are in seconds."""
    return linear_regression(times, values).slope * _HOUR


def growing(
    times: Sequence[float], samples: Sequence[Mapping[str, float]], bounds: Mapping[str, Bound]
) -> dict[str, float]:
    """The figures that grow more than they may, with their growth in an hour."""
    seconds = times[-1] - times[0]
    slopes = {name: growth_per_hour(times, [sample[name] for sample in samples]) for name in samples[0]}
    return {name: slope for name, slope in slopes.items() if not bounds[name].allows(slope, seconds)}
