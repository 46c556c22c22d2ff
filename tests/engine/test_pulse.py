from __future__ import annotations

import pytest

from heliograph.engine import pulse
from heliograph.engine.pulse import SILENCE_SECONDS, Heart, Pulse


class _Clock:
    """Stands for the system's clock."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    clock = _Clock()
    monkeypatch.setattr(pulse, "time", clock)
    return clock


def test_a_lane_is_heard_about_once_a_second_however_often_it_beats(clock: _Clock) -> None:
    told: list[Pulse] = []
    heart = Heart(3, told.append)
    for _ in range(1000):
        clock.now += 0.01
        heart.beat(lambda: "copying")
    assert len(told) == 10
    assert set(told) == {Pulse(3, "copying", SILENCE_SECONDS)}


def test_what_a_lane_does_is_asked_only_when_it_is_told(clock: _Clock) -> None:
    asked: list[int] = []
    heart = Heart(3, lambda _: None)
    for _ in range(50):
        clock.now += 0.01
        heart.beat(lambda: asked.append(1) or "idle")  # type: ignore[func-returns-value]
    assert len(asked) == 1


def test_a_long_step_is_told_at_once_but_not_each_of_many(clock: _Clock) -> None:
    told: list[Pulse] = []
    heart = Heart(3, told.append)
    for _ in range(100):
        heart.beat(lambda: "copying")
        heart.before("transforming", 600)
    assert told == [Pulse(3, "copying", 30), Pulse(3, "transforming", 630)]
    clock.now += 1
    heart.beat(lambda: "copying")
    heart.before("transforming", 600)
    assert told[2:] == told[:2]


def test_a_lane_with_long_transactions_may_be_silent_for_longer() -> None:
    told: list[Pulse] = []
    Heart(0, told.append, 80).beat(lambda: "idle")
    Heart(0, told.append, 1).beat(lambda: "idle")
    assert [item.patience for item in told] == [80, SILENCE_SECONDS]


def test_what_follows_a_long_step_has_no_time_to_spare(clock: _Clock) -> None:
    told: list[Pulse] = []
    heart = Heart(3, told.append)
    heart.before("connecting", 52)
    heart.before("waiting for backup", 0)
    assert [item.patience for item in told] == [82, 30]
