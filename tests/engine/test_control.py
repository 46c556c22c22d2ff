"""The line between driver and lanes: strangers stay out, an epoch ends for late lanes too, a lost driver is noticed."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection, Listener

import pytest

from heliograph.engine import watchdog, wire
from heliograph.engine.control import ControlServer, _where, ask_epoch, ask_tasks
from heliograph.engine.lane_line import LANE, READER, LaneLine
from heliograph.engine.pulse import Pulse
from heliograph.engine.wire import ControlAddress
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
        self.pulses: list[Pulse] = []
        self.hung: list[tuple[int, str, str]] = []
        self.lost: list[tuple[int, str]] = []
        self.failure: Exception | None = None
        self.deal = 0
        self.on_progress: Callable[[], None] = lambda: None
        self.on_hang: Callable[[], None] = lambda: None
        self.seconds = 0.0  # that an answer takes

    def next_epoch(self, finished: int) -> int:
        time.sleep(self.seconds)
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
        self.on_progress()
        self.entries.append(entry)

    def lane_troubled(self, trouble: str) -> None:
        self.troubles.append(trouble)

    def lane_pulsed(self, deal: int, pulse: Pulse) -> None:
        self.pulses.append(pulse)

    def lane_hangs(self, lane: int, trouble: str, stack: str) -> None:
        self.hung.append((lane, trouble, stack))
        self.on_hang()

    def lane_lost(self, lane: int, trouble: str) -> None:
        self.lost.append((lane, trouble))


@pytest.fixture
def flow() -> _Flow:
    """The flow behind the line."""
    return _Flow()


@pytest.fixture
def server(flow: _Flow) -> Iterator[ControlServer]:
    """A driver that answers for one flow."""
    server = ControlServer(watch_interval=0.02)
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


# -- no wait without an end -------------------------------------------------------------------------------------------


@contextmanager
def deaf_driver(handshakes: int = 1) -> Iterator[ControlAddress]:
    """A driver that takes calls, and neither answers nor listens then."""
    key = secrets.token_bytes(32)
    calls = []
    with Listener(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(handshakes):
                calls.append(listener.accept())
                assert wire.take_call(calls[-1], key)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = listener.address
        assert isinstance(address, tuple)
        yield ControlAddress("127.0.0.1", int(address[1]), key)
        thread.join(10)
        for call in calls:
            call.close()


def test_a_stranger_who_says_nothing_keeps_nobody_waiting(server: ControlServer) -> None:
    with socket.create_connection((server.address.host, server.address.port)):
        began = time.monotonic()
        assert ask_epoch(server.address, "a->b", 1) == 2
        assert time.monotonic() - began < 5


@pytest.mark.timeout(30)
def test_a_driver_who_takes_no_reports_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "TAKEN_WITHIN_SECONDS", 0.3)
    with deaf_driver() as address, closing(LaneLine(address, "a->b", 1)) as line:
        began = time.monotonic()
        with pytest.raises(DriverGone):
            line.report(bytes(50_000_000))
        assert time.monotonic() - began < 5


def test_a_driver_who_does_not_answer_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PATIENCE_SECONDS", 0.3)
    with deaf_driver() as address, pytest.raises(DriverGone, match="says nothing"):
        ask_epoch(address, "a->b", 1)


def test_a_driver_who_does_not_even_take_a_call_counts_as_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "INTRODUCTION_SECONDS", 0.3)
    with deaf_driver(handshakes=0) as address, pytest.raises(DriverGone):
        ask_epoch(address, "a->b", 1)


def test_a_driver_who_takes_long_says_so(server: ControlServer, flow: _Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_PATIENCE_SECONDS", 4.0)  # far longer than a busy machine keeps a thread waiting
    monkeypatch.setattr(wire, "_TOLD_EVERY_SECONDS", 0.1)
    flow.seconds = 5.0
    assert ask_epoch(server.address, "a->b", 1) == 2


# -- lanes that say nothing -------------------------------------------------------------------------------------------


class _HungLane:
    """A lane in a thread that hangs until its process would be ended."""

    def __init__(self, server: ControlServer, pulse: Pulse) -> None:
        self._server, self._pulse = server, pulse
        self.has_ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with closing(LaneLine(self._server.address, "a->b", 1, on_exit=self.has_ended.set)) as line:
            line.report(self._pulse)
            self.hangs_here()

    def hangs_here(self) -> None:
        """The name that must be found."""
        self.has_ended.wait(20)


def test_what_lanes_do_reaches_the_flow(server: ControlServer, flow: _Flow) -> None:
    with closing(LaneLine(server.address, "a->b", 1)) as line:
        line.report(Pulse(2, "idle"))
        wait_until(lambda: flow.pulses == [Pulse(2, "idle")], "the pulse")
    assert flow.begun == [1]


def test_a_reader_is_no_lane_of_its_own_but_watched(server: ControlServer, flow: _Flow) -> None:
    with closing(LaneLine(server.address, "a->b", 1, READER)) as line:
        line.report(Pulse(2, "reading"))
        wait_until(lambda: bool(flow.pulses), "the pulse")
    assert flow.begun == []


def test_a_lane_that_hangs_tells_where_and_is_ended(server: ControlServer, flow: _Flow) -> None:
    lane = _HungLane(server, Pulse(2, "waiting for backup to commit a transaction", 0.3))
    wait_until(lane.has_ended.is_set, "the end of the lane", 10)
    wait_until(lambda: bool(flow.hung), "the driver to be told")
    [(number, trouble, stack)] = flow.hung
    assert number == 2
    assert "hangs_here" in stack
    assert "it hangs at" in trouble
    assert "waiting for backup to commit a transaction" in trouble
    assert flow.lost == []


def test_the_place_where_a_lane_hangs_is_the_innermost_of_our_own() -> None:
    stack = """  File "/home/heliograph/.venv/lib/python3.11/site-packages/pyspark/worker.py", line 1, in main
    process()
  File "/opt/site-packages/heliograph/engine/lane_session.py", line 290, in _copy
    self._loop.run_once(0.1)
  File "/home/heliograph/.venv/lib/python3.11/selectors.py", line 468, in select
    fd_event_list = self._selector.poll(timeout, max_ev)
"""
    told = _where(stack, "idle")
    assert told == "it hangs at heliograph/engine/lane_session.py, line 290, in _copy; before, it was idle"
    assert "does not answer" in _where("", "idle")


def test_an_idle_lane_and_one_that_waits_are_left_alone(server: ControlServer, flow: _Flow) -> None:
    with closing(LaneLine(server.address, "a->b", 1, on_exit=lambda: None)) as line:
        for number in range(30):
            line.report(Pulse(0, ("idle", "resting before it tries again: backup broker: gone")[number % 2], 0.5))
            time.sleep(0.05)
    assert (flow.hung, flow.lost) == ([], [])


def test_a_lane_is_not_to_blame_for_a_slow_driver(
    server: ControlServer, flow: _Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pulses wait behind the report that the driver is busy with."""
    monkeypatch.setattr(watchdog, "ANSWER_SECONDS", 0.2)
    flow.on_progress = lambda: time.sleep(1.0)
    with closing(LaneLine(server.address, "a->b", 1, on_exit=lambda: None)) as line:
        line.report(Pulse(0, "copying", 0.3))
        line.report(LedgerEntry("a->b", 0, "me", 7, 1000))
        for _ in range(24):
            line.report(Pulse(0, "copying", 0.3))
            time.sleep(0.05)
    wait_until(lambda: len(flow.pulses) == 25, "all pulses")
    assert flow.hung == []


def test_a_slow_report_of_one_lane_holds_up_no_other(server: ControlServer, flow: _Flow) -> None:
    is_over = threading.Event()
    flow.on_progress = lambda: (is_over.wait(20), None)[1]
    with closing(LaneLine(server.address, "a->b", 1)) as slow, closing(LaneLine(server.address, "a->b", 1)) as other:
        slow.report(LedgerEntry("a->b", 0, "me", 7, 1000))
        other.report(Pulse(1, "copying"))
        wait_until(lambda: bool(flow.pulses), "the other lane's pulse", 5)
        server.end_epoch("a->b")
        wait_until(other.was_told_to_end, "the end", 5)
        is_over.set()


def _fail() -> None:
    raise ValueError("nobody expected this")


def test_the_watchdog_goes_on_after_a_flow_that_fails(server: ControlServer, flow: _Flow) -> None:
    flow.on_hang = _fail
    _HungLane(server, Pulse(2, "copying", 0.2))
    wait_until(lambda: bool(flow.hung), "the first lane to be noticed", 10)
    _HungLane(server, Pulse(3, "copying", 0.2))
    wait_until(lambda: [number for number, *_ in flow.hung] == [2, 3], "the second one", 10)


def test_a_process_that_cannot_be_killed_is_told_and_given_up(flow: _Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "ANSWER_SECONDS", 0.2)
    server = ControlServer(has_lanes_here=True, watch_interval=0.02)
    server.add_flow("a->b", flow)
    with closing(server), closing(wire.call(server.address)) as lane:
        lane.send((LANE, "a->b", (1, 1 << 70)))  # of which the system says that no process can have it
        lane.send(Pulse(4, "copying", 0.2))
        wait_until(lambda: bool(flow.lost), "the lane to be given up", 10)
    assert [number for number, *_ in flow.hung] == [4]


def test_lanes_that_are_lost_together_end_their_query_once(
    server: ControlServer, flow: _Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow is taken over anew for the first of them: by the time of the second, others may be copying."""
    monkeypatch.setattr(watchdog, "ANSWER_SECONDS", 0.2)
    with closing(wire.call(server.address)) as first, closing(wire.call(server.address)) as second:
        for number, line in enumerate((first, second)):
            line.send((LANE, "a->b", (flow.deal, 1)))
            line.send(Pulse(number, "copying", 0.2 + 0.3 * number))
        for line in (first, second):
            _await_end(line)
    assert [number for number, _ in flow.lost] == [0]
    flow.deal += 1
    with closing(wire.call(server.address)) as later:
        later.send((LANE, "a->b", (flow.deal, 1)))
        later.send(Pulse(7, "copying", 0.2))
        _await_end(later)
    assert [number for number, _ in flow.lost] == [0, 7]


def _await_end(line: Connection) -> None:
    """Take all words, until nobody listens any more."""
    with contextlib.suppress(EOFError, ConnectionResetError):
        while line.poll(10):
            line.recv()
        raise AssertionError("the lane was not given up")


_FROZEN = """
import os, pickle, sys, time
from heliograph.engine.lane_line import LaneLine
from heliograph.engine.pulse import Pulse
line = LaneLine(pickle.loads(bytes.fromhex(sys.argv[1])), "a->b", 1)
while True:
    line.report(Pulse(5, "copying", 1.0))
    time.sleep(0.1)
"""


def test_a_frozen_lane_is_given_up_and_ends_when_it_wakes_up(
    server: ControlServer, flow: _Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "ANSWER_SECONDS", 0.3)
    told = pickle.dumps(server.address).hex()
    with subprocess.Popen([sys.executable, "-c", _FROZEN, told]) as lane:
        try:
            wait_until(lambda: bool(flow.pulses), "a pulse")
            lane.send_signal(signal.SIGSTOP)
            wait_until(lambda: bool(flow.lost), "the lane to be given up", 10)
            assert flow.lost[0][0] == 5
            assert "frozen" in flow.lost[0][1]
            lane.send_signal(signal.SIGCONT)
            assert lane.wait(10) != 0
        finally:
            lane.kill()


def test_a_frozen_lane_on_the_drivers_own_machine_is_killed(flow: _Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "ANSWER_SECONDS", 0.3)
    server = ControlServer(has_lanes_here=True, watch_interval=0.02)
    server.add_flow("a->b", flow)
    with closing(server), subprocess.Popen([sys.executable, "-c", _FROZEN, pickle.dumps(server.address).hex()]) as lane:
        try:
            wait_until(lambda: bool(flow.pulses), "a pulse")
            lane.send_signal(signal.SIGSTOP)
            assert lane.wait(10) == -signal.SIGKILL
            time.sleep(1)
            assert flow.lost == []
        finally:
            lane.kill()
