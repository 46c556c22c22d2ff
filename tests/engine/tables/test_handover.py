from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.engine.control import ControlServer, leave_note, take_note
from heliograph.engine.tables.handover import Coverage, Covered, Handover
from heliograph.errors import DriverGone
from heliograph.model import TopicPartition


@pytest.fixture
def control() -> Iterator[ControlServer]:
    """The driver's end of the line."""
    server = ControlServer()
    yield server
    server.close()


def test_what_one_process_leaves_another_takes_once(control: ControlServer) -> None:
    leave_note(control.address, "a", b"1")
    leave_note(control.address, "b", b"2")
    assert take_note(control.address, "b") == b"2"
    assert take_note(control.address, "a") == b"1"
    with pytest.raises(DriverGone, match="nobody has left"):
        take_note(control.address, "a")


def test_notes_that_nobody_takes_do_not_pile_up(control: ControlServer) -> None:
    for number in range(5000):
        control._noted(str(number), b"x")
    assert len(control._notes) == 4096
    assert take_note(control.address, "4999") == b"x"


def test_attempts_of_a_lane_do_not_read_each_others_notes(control: ControlServer) -> None:
    first, second = (Handover(control.address, "a->b", attempt) for attempt in (1, 2))
    coverage = Coverage([Covered(TopicPartition("t", 0), 0, 5, 5, "", -1, False, False)])
    second.end(coverage)
    with pytest.raises(DriverGone):
        first.covered()
    assert second.covered() == coverage
