"""What may be on its way to a broker follows what the link takes."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, cast

import pytest

from heliograph.engine.links import Links
from heliograph.engine.outgoing import Outgoing, _Request
from heliograph.engine.window import Window

if TYPE_CHECKING:
    from heliograph.kafka.network import Network
    from heliograph.kafka.transaction import Producer

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


def test_lanes_that_begin_together_share_the_link() -> None:
    assert sum(Window(4).size for _ in range(4)) == Window().size
    assert Window(1000).size >= 32 * 1024


def test_what_was_never_answered_was_too_much() -> None:
    window = Window()
    window.given_up(5.0)
    assert window.size == Window().size // 2
    for _ in range(20):
        window.given_up(5.0)
    assert window.size == 32 * 1024


def test_who_gives_up_remembers_what_the_link_did_not_take() -> None:
    links = Links()
    outgoing = Outgoing(cast("Network", None), cast("Producer", None), links=links)
    sent_at = time.monotonic() - 5.0
    outgoing._in_flight[1] = deque([_Request(1000, 1000, sent_at, MOST)])
    outgoing.give_up()
    assert links.window(1).size == links.window(2).size // 2


def test_what_has_just_left_says_nothing_of_the_link() -> None:
    window = Window()
    window.given_up(0.1)
    assert window.size == Window().size
