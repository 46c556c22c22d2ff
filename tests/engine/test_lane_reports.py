"""What a driver makes of what its lanes tell, and of what they do not tell."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from heliograph.engine import flow as flow_module
from heliograph.engine import lane as lane_module
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.pulse import Heart, Pulse
from heliograph.engine.settings import LaneSettings
from heliograph.kafka.access import Access
from heliograph.model import Assignment, LanePlan, LedgerEntry, TopicPartition
from tests.control.test_standing import flow_to
from tests.zoo.internal_topics import fresh_names


@pytest.fixture
def driver() -> FlowDriver:
    return flow_to("127.0.0.1:1", fresh_names())


def committed(lane: int) -> LedgerEntry:
    return LedgerEntry("a->b", lane, "me", 7, 1000)


def test_where_a_lane_hangs_stays_until_that_very_lane_goes_on(driver: FlowDriver) -> None:
    driver.lane_hangs(1, "lane 1 has said nothing for 31 s; it hangs at lane.py", "File lane.py")
    driver.lane_progressed(committed(0))
    assert driver.trouble is not None
    assert "hangs at lane.py" in driver.trouble.text
    driver.lane_progressed(committed(1))
    assert driver.trouble is None


def test_the_stack_of_a_lane_that_hangs_is_logged(driver: FlowDriver, caplog: pytest.LogCaptureFixture) -> None:
    driver.lane_hangs(1, "lane 1 has said nothing", "File lane.py, line 7")
    assert "a->b: lane 1 has said nothing" in caplog.text
    assert "File lane.py, line 7" in caplog.text


def test_a_lane_that_cannot_be_ended_is_known_until_the_flow_is_taken_over(driver: FlowDriver) -> None:
    driver.lane_lost(1, "lane 1 is frozen")
    assert driver.lost_lane == "lane 1 is frozen"
    assert driver.trouble is not None


def test_what_lanes_do_is_known_of_the_newest_deal_only(driver: FlowDriver) -> None:
    driver.deal = 2
    driver.lane_pulsed(1, Pulse(0, "idle"))
    driver.lane_pulsed(2, Pulse(1, "copying"))
    assert driver.doings == {1: "copying"}


def test_followers_are_told_without_a_lock_and_slow_ones_are_named(
    driver: FlowDriver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(flow_module, "_SLOW_FOLLOWER_SECONDS", 0.1)
    told: list[int] = []

    def slow(entry: LedgerEntry) -> None:
        other = threading.Thread(target=lambda: driver.limit_lanes(3), daemon=True)  # takes the driver's lock
        other.start()
        other.join(5)
        assert not other.is_alive()
        time.sleep(0.2)
        told.append(entry.lane)

    driver.followers.append(slow)
    with caplog.at_level(logging.WARNING):
        driver.lane_progressed(committed(0))
        driver.lane_progressed(committed(1))
    assert told == [0, 1]
    assert caplog.text.count("slow took") == 1, "told once"


def test_lanes_that_do_not_begin_and_plans_that_do_not_end_are_told(driver: FlowDriver) -> None:
    item = Assignment(TopicPartition("t", 0), TopicPartition("a.t", 0))
    driver._plan = flow_module._Plan([[item], [item]], {})
    driver._assignments = [item]
    driver._active.set()
    assert driver.waits_long_for() == ""
    driver._planned_at = time.monotonic() - 61
    driver._lanes_begun = 1
    assert driver.waits_long_for().startswith("1 lanes have not begun for 61 s")
    driver._lanes_begun = 2
    assert driver.waits_long_for() == ""
    driver._planning_since = time.monotonic() - 31
    assert driver.waits_long_for() == "the lanes of the next epoch are being planned for 31 s"


def test_lanes_that_leave_something_alone_are_dealt_anew_at_once_and_once(driver: FlowDriver) -> None:
    driver._plan = flow_module._Plan([], {})
    assert not driver.wants_new_plan()
    driver.deal_anew("orders-0 lay still")
    assert driver.wants_new_plan()
    assert driver.trouble is not None
    assert driver.trouble.text == "orders-0 lay still"
    driver.lane_tasks(1)  # not ours, so nothing is dealt
    driver._active.set()
    driver._planned = lambda: ()  # type: ignore[method-assign]
    driver.lane_tasks(2)
    assert not driver.wants_new_plan()


def test_a_pause_between_two_tries_ends_with_the_epoch_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "_LOOK_INTERVAL", 0.01)
    plan = LanePlan("a->b", 0, "me", 1, ["id"], fresh_names(), [])
    access = Access("a", ["127.0.0.1:1"])
    told: list[Pulse] = []
    until = time.monotonic() + 0.3
    lane = Lane(plan, access, access, LaneSettings(), lambda: time.monotonic() > until, heart=Heart(0, told.append))
    began = time.monotonic()
    lane._rest(60, "the registry does not answer")
    assert time.monotonic() - began < 5
    assert told == [Pulse(0, "resting before it tries again: the registry does not answer")]
