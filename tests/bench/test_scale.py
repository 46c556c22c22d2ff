"""Whether costs grow faster than what they are for."""

from __future__ import annotations

from bench.scale import Growth


def test_a_fixed_cost_and_a_linear_one_are_linear() -> None:
    assert Growth("fixed", [10 / 500, 10 / 1000, 10 / 2000]).ratios == [0.5, 0.5]
    assert Growth("fixed", [10 / 500, 10 / 1000, 10 / 2000]).is_linear
    assert Growth("linear", [0.01, 0.01, 0.01]).is_linear


def test_a_cost_with_the_square_is_told_loudly() -> None:
    square = Growth("square", [500.0, 1000.0, 2000.0])
    assert not square.is_linear
    assert str(square) == "square per partition: 2.00 x, 2.00 x: FASTER THAN LINEAR"


def test_a_cost_that_only_begins_to_grow_is_told_too() -> None:
    assert not Growth("late", [3.0, 2.0, 2.5]).is_linear
