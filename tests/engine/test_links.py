"""What is asked for follows what the link brings, and is remembered from one session of a lane to the next."""

from __future__ import annotations

import pytest

from heliograph.engine.links import AnswerSize, Links

MB = 1024 * 1024
WANTED = 8 * MB


def ask(answer_size: AnswerSize, bytes_per_second: float, seconds: float) -> None:
    """Ask again and again for so long; the source always has enough."""
    while seconds > 0:
        size = min(WANTED, answer_size.most)
        taken = size / bytes_per_second
        answer_size.answered(size, taken, WANTED)
        seconds -= taken


@pytest.mark.parametrize("bytes_per_second", [50_000, 200_000, 1_500_000])
def test_an_answer_takes_seconds_over_a_slow_link(bytes_per_second: int) -> None:
    answer_size = AnswerSize(MB)
    ask(answer_size, bytes_per_second, 60)
    assert 1.0 <= answer_size.most / bytes_per_second <= 4.0


def test_a_quick_broker_is_soon_asked_for_all_that_is_wanted() -> None:
    answer_size = AnswerSize(MB // 8)
    ask(answer_size, 1e9, 0.1)
    assert answer_size.most == WANTED


def test_a_link_that_gets_quicker_again_is_made_use_of() -> None:
    answer_size = AnswerSize(MB)
    ask(answer_size, 100_000, 60)
    assert answer_size.most < MB
    ask(answer_size, 1e9, 0.1)
    assert answer_size.most == WANTED


def test_answers_that_bring_little_say_nothing_of_what_the_link_brings() -> None:
    answer_size = AnswerSize(MB)
    for _ in range(10):
        answer_size.answered(1000, 0.01, WANTED)
    assert answer_size.most == MB


def test_however_slow_a_link_is_something_is_asked_for() -> None:
    answer_size = AnswerSize(MB)
    answer_size.answered(1000, 3600, WANTED)
    assert answer_size.most == 64 * 1024


def test_what_is_known_of_a_broker_is_known_to_all_who_ask() -> None:
    links = Links(lanes=4)
    links.window(1).given_up(60)
    links.answer_size(1).answered(MB, 60, WANTED)
    assert links.window(1).size < links.window(2).size
    assert links.answer_size(1).most < links.answer_size(2).most == MB // 4
