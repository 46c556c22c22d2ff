"""What grows slowly is found, and what only goes up and down is not."""

from __future__ import annotations

import random

import pytest

from tests.chaos.trend import Bound, growing, growth_per_hour

_MB = 1e6
_TIMES = [float(second) for second in range(0, 2160, 2)]  # the last 60 % of an hour
_BOUND = {"bytes": Bound(per_hour=8 * _MB, by_chance=4 * _MB)}


def _samples(grows: float, tooth: float = 0.0, noise: float = 0.0) -> list[dict[str, float]]:
    chance = random.Random(5)
    return [
        {"bytes": 300 * _MB + grows * at / 3600 + tooth * (at % 330 / 330) + chance.gauss(0, noise)} for at in _TIMES
    ]


def test_the_slope_is_that_of_the_line() -> None:
    values = [sample["bytes"] for sample in _samples(20 * _MB)]
    assert growth_per_hour(_TIMES, values) == pytest.approx(20 * _MB)


@pytest.mark.parametrize(
    ("samples", "is_found"),
    [
        (_samples(0, noise=3 * _MB), False),
        (_samples(0, tooth=16 * _MB), False),  # a log of which a segment is deleted again and again
        (_samples(-50 * _MB), False),
        (_samples(40 * _MB, noise=3 * _MB), True),  # 24 MB in these minutes: 8 % of what it has
        (_samples(40 * _MB, tooth=16 * _MB), True),
    ],
)
def test_only_steady_growth_counts(samples: list[dict[str, float]], is_found: bool) -> None:
    assert bool(growing(_TIMES, samples, _BOUND)) == is_found


def test_a_single_descriptor_in_ten_minutes_is_too_much() -> None:
    samples = [{"descriptors": 40.0 + at // 600} for at in _TIMES]
    assert growing(_TIMES, samples, {"descriptors": Bound(1, 1)}).keys() == {"descriptors"}
    assert not growing(_TIMES, [{"descriptors": 40.0 + (at > 1000)} for at in _TIMES], {"descriptors": Bound(1, 1)})
