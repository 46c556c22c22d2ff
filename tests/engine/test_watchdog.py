"""What the driver does about a lane that says nothing, moment by moment."""

from __future__ import annotations

from heliograph.engine.pulse import Pulse
from heliograph.engine.watchdog import ANSWER_SECONDS, LaneWatch, Step

PATIENCE = 30.0


def watch_of(pulse: Pulse | None = None, now: float = 0.0) -> LaneWatch:
    """A lane that has just said something."""
    watch = LaneWatch()
    watch.heard(now, pulse or Pulse(0, "copying", PATIENCE))
    return watch


def steps_until(watch: LaneWatch, end: float, begin: float = 0.0) -> list[tuple[float, Step]]:
    """All that is done about it, looking once a second."""
    moments = [begin + second for second in range(int(end - begin) + 1)]
    return [(now, step) for now in moments if (step := watch.next_step(now)) is not None]


def test_a_silent_lane_is_asked_then_ended_then_given_up() -> None:
    steps = steps_until(watch_of(), 120)
    assert steps == [(31.0, Step.ASK), (31.0 + ANSWER_SECONDS, Step.END), (31.0 + 2 * ANSWER_SECONDS, Step.GIVE_UP)]


def test_it_is_ended_as_soon_as_it_has_told_where_it_hangs() -> None:
    watch = watch_of()
    assert watch.next_step(31) is Step.ASK
    watch.stack = "File lane.py"
    assert watch.next_step(32) is Step.END


def test_a_lane_that_says_something_every_second_is_left_alone() -> None:
    watch = watch_of()
    for now in range(1000):
        watch.heard(now, Pulse(0, "idle", PATIENCE))
        assert watch.next_step(now + 0.9) is None


def test_a_lane_that_goes_on_when_it_is_asked_is_not_ended() -> None:
    watch = watch_of()
    assert watch.next_step(31) is Step.ASK
    watch.stack = "File lane.py"
    watch.heard(32)
    assert steps_until(watch, 62, 32) == []
    assert watch.next_step(63) is Step.ASK


def test_a_lane_that_has_asked_for_more_time_gets_it() -> None:
    watch = watch_of(Pulse(0, "connecting", 100))
    assert steps_until(watch, 100) == []
    assert watch.next_step(101) is Step.ASK


def test_a_lane_without_a_pulse_is_not_watched() -> None:
    watch = LaneWatch()
    watch.heard(0)
    assert steps_until(watch, 1000) == []


def test_while_the_driver_deals_with_what_it_has_said_a_lane_is_not_to_blame() -> None:
    watch = watch_of()
    watch.serving(True, 1)
    assert steps_until(watch, 1000) == []
    watch.serving(False, 1000)
    assert steps_until(watch, 1030, 1000) == []
    assert watch.next_step(1031) is Step.ASK


def test_a_driver_that_was_frozen_itself_blames_nobody() -> None:
    watch = watch_of()
    watch.overslept(500)
    assert steps_until(watch, 530, 500) == []
    assert watch.next_step(531) is Step.ASK
