"""What a window and a span may be."""

from __future__ import annotations

import pytest

from heliograph.conflicts.bounds import Bounds


def test_a_conflict_may_last_twenty_windows_unless_told_otherwise() -> None:
    assert Bounds().span_ms == 100_000
    assert Bounds(5, 30).span_ms == 30


def test_a_window_of_zero_means_the_very_same_time() -> None:
    assert Bounds(0).span_ms == 1


@pytest.mark.parametrize(("window_ms", "span_ms"), [(-1, 10), (5, 9), (0, 0)])
def test_bounds_that_could_never_work_are_refused(window_ms: int, span_ms: int) -> None:
    with pytest.raises(ValueError, match="window"):
        Bounds(window_ms, span_ms)
