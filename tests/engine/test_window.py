"""What may be on its way to a broker follows what the link takes."""

from __future__ import annotations

import pytest

from heliograph.engine.window import Window

MOST = 8 * 1024 * 1024


def answers_of(bytes_per_second: float, window: Window, seconds: float) -> None:
    """Keep the window filled for so long, with requests as large as a tenth of it."""
    while seconds > 0:
        size = window.size // 10
        outstanding = window.size
        seconds -= size / bytes_per_second
        window.answered(size, outstanding, outstanding / bytes_per_second, MOST)


@pytest.mark.parametrize("bytes_per_second", [50_000, 200_000, 2_000_000])
def test_about_a_second_of_data_is_on_its_way(bytes_per_second: int) -> None:
    window = Window()
    answers_of(bytes_per_second, window, 10)
    assert 0.4 * bytes_per_second < window.size <= 1.1 * bytes_per_second


def test_a_fast_link_gets_all_that_is_worth_trying() -> None:
    window = Window()
    answers_of(1e9, window, 0.1)
    assert window.size == MOST


def test_it_follows_a_link_that_gets_slower_and_faster() -> None:
    window = Window()
    answers_of(1e9, window, 0.1)
    answers_of(100_000, window, 2)
    assert window.size <= 110_000
    answers_of(1e9, window, 0.1)
    assert window.size == MOST


def test_it_never_closes() -> None:
    window = Window()
    window.answered(1, 1, 60, MOST)
    assert window.size >= 1024
