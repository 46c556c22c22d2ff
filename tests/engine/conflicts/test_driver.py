"""What the driver of detection makes of what its tasks tell, and of what they do not tell."""

from __future__ import annotations

import time

import pytest

from heliograph.conflicts.totals import PassedBy
from heliograph.engine.conflicts.driver import DetectionDriver
from heliograph.engine.conflicts.task_writer import TaskReport
from heliograph.engine.pulse import Pulse
from heliograph.model import TopicPartition
from tests.engine.conflicts.samples import NoSurroundings, settings

WHERE = TopicPartition("orders", 0)


@pytest.fixture
def driver() -> DetectionDriver:
    """One that has not begun."""
    return DetectionDriver(settings(), NoSurroundings())


def test_an_epoch_that_takes_long_names_what_it_waits_for(driver: DetectionDriver) -> None:
    assert driver.waits_long_for() == ""
    driver._running_since = time.monotonic() - 121
    assert driver.waits_long_for().endswith("tasks: 0 of 2 done; last told: none has begun")
    driver.lane_pulsed(1, Pulse(0, "waiting for eu broker 1 to give records"))
    driver.lane_progressed(TaskReport(0, 0, {}, {}))
    told = driver.waits_long_for()
    assert told.startswith("an epoch takes 121 s by now")
    assert told.endswith("tasks: 1 of 2 done; last told: 1 waiting for eu broker 1 to give records")
    assert driver.next_epoch(0) == 0  # Spark asks when the epoch is over
    assert driver.waits_long_for() == ""


def test_where_a_task_hangs_is_told(driver: DetectionDriver, caplog: pytest.LogCaptureFixture) -> None:
    driver.lane_hangs(1, "lane 1 has said nothing for 601 s", "File range_rows.py, line 7")
    assert "has said nothing for 601 s" in driver.totals.trouble
    assert "File range_rows.py, line 7" in caplog.text
    assert driver.lost_lane == ""
    driver.lane_lost(1, "lane 1 is frozen")
    assert "lane 1 is frozen" in driver.lost_lane


def test_what_was_passed_by_is_counted_and_logged_once_the_newest_shown(
    driver: DetectionDriver, caplog: pytest.LogCaptureFixture
) -> None:
    found = [PassedBy(WHERE, 10 * number, 10 * number + 1, "broken") for number in range(30)]
    for _ in range(2):
        driver.lane_progressed(found)
    driver.lane_progressed([PassedBy(WHERE, 7, 7, "broken")])
    assert driver.totals.unreadable == 61
    assert [item.first for item in driver.totals.passed_by] == [*range(110, 300, 10), 7]
    assert caplog.text.count("passed by") == 12
    assert "conflicts on eu: orders-0: offset 7 passed by: broken" in caplog.text
    assert "20 more places passed by" in caplog.text
