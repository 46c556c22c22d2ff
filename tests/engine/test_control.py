"""The line between driver and lanes: strangers stay out, an epoch ends for late lanes too, a lost driver is noticed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from heliograph.engine.control import ControlServer, LaneLine, ask_epoch, ask_tasks
from heliograph.errors import DriverGone, TakenOver
from heliograph.model import LedgerEntry
from tests.waiting import wait_until


class _Flow:
    """A flow that remembers what it is told."""

    def __init__(self) -> None:
        self.entries: list[LedgerEntry] = []
        self.troubles: list[str] = []
        self.begun: list[int] = []
        self.done: list[int] = []
        self.failure: Exception | None = None
        self.deal = 0

    def next_epoch(self, finished: int) -> int:
        return finished + 1

    def lane_tasks(self, epoch: int) -> Sequence[bytes]:
        if self.failure:
            raise self.failure
        self.deal += 1
        return [b"first", b"second"]

    def lane_began(self, deal: int) -> None:
        self.begun.append(deal)

    def lane_done(self, deal: int) -> None:
        self.done.append(deal)

    def lane_progressed(self, entry: LedgerEntry) -> None:
        self.entries.append(entry)

    def lane_troubled(self, trouble: str) -> None:
        self.troubles.append(trouble)


@pytest.fixture
def flow() -> _Flow:
    """The flow behind the line."""
    return _Flow()


@pytest.fixture
def server(flow: _Flow) -> Iterator[ControlServer]:
    """A driver that answers for one flow."""
    server = ControlServer()
    server.add_flow("a->b", flow)
    yield server
    server.close()


def test_planners_get_epochs_and_tasks(server: ControlServer) -> None:
    assert ask_epoch(server.address, "a->b", 4) == 5
    assert ask_tasks(server.address, "a->b", 5) == [b"first", b"second"]


def test_all_are_answered_who_call_at_the_same_moment(server: ControlServer) -> None:
    answers: list[int] = []
    calls = [
        threading.Thread(target=lambda: answers.append(ask_epoch(server.address, "a->b", 4)), daemon=True)
        for _ in range(100)
    ]
    for call in calls:
        call.start()
    wait_until(lambda: len(answers) == len(calls), "an answer to every call", 20)


def test_a_failed_plan_is_raised_where_it_was_asked_for(server: ControlServer, flow: _Flow) -> None:
    flow.failure = TakenOver("the flow belongs to another mirror")
    with pytest.raises(TakenOver, match="another mirror"):
        ask_tasks(server.address, "a->b", 1)


def test_what_lanes_report_reaches_the_flow(server: ControlServer, flow: _Flow) -> None:
    line = LaneLine(server.address, "a->b", 1)
    entry = LedgerEntry("a->b", 0, "me", 7, 1000)
    line.report(entry)
    line.report("trouble")
    wait_until(lambda: flow.troubles == ["trouble"], "the report")
    assert flow.entries == [entry]
    line.close()


def test_an_ended_epoch_ends_for_lanes_that_call_later(server: ControlServer) -> None:
    ask_tasks(server.address, "a->b", 3)
    early = LaneLine(server.address, "a->b", 1)
    assert not early.was_told_to_end()
    server.end_epoch("a->b")
    wait_until(early.was_told_to_end, "the end")
    wait_until(LaneLine(server.address, "a->b", 1).was_told_to_end, "the end of a late lane")
    ask_tasks(server.address, "a->b", 4)
    assert not LaneLine(server.address, "a->b", 2).was_told_to_end()


def test_an_end_is_not_remembered_for_deals_that_follow(server: ControlServer, flow: _Flow) -> None:
    """Spark counts the epochs of a new query from 1 again."""
    for epoch in (1, 2, 3):
        ask_tasks(server.address, "a->b", epoch)
    server.end_epoch("a->b")
    ask_tasks(server.address, "a->b", 1)
    line = LaneLine(server.address, "a->b", 4)
    line.report("trouble")
    wait_until(lambda: flow.troubles == ["trouble"], "the report, by which an end would have come")
    assert not line.was_told_to_end()


def test_the_driver_knows_of_a_lane_that_is_done_before_the_lane_ends(server: ControlServer, flow: _Flow) -> None:
    ask_tasks(server.address, "a->b", 1)
    line = LaneLine(server.address, "a->b", 1)
    server.end_epoch("a->b")
    line.say_done()
    assert flow.done == [1]


def test_who_does_not_know_the_key_is_turned_away(server: ControlServer) -> None:
    with pytest.raises(DriverGone):
        ask_epoch(replace(server.address, key=b"guess"), "a->b", 1)
    assert ask_epoch(server.address, "a->b", 1) == 2


def test_the_key_is_not_shown(server: ControlServer) -> None:
    assert server.address.key.hex() not in repr(server.address)
    assert repr(server.address.key) not in repr(server.address)


def test_a_lane_notices_that_its_driver_is_gone(server: ControlServer) -> None:
    line = LaneLine(server.address, "a->b", 1)
    ask_epoch(server.address, "a->b", 0)  # an answer proves that the line before it was accepted
    server.close()

    def is_gone() -> bool:
        try:
            return line.was_told_to_end()
        except DriverGone:
            return True

    wait_until(is_gone, "the driver's end to be noticed")
