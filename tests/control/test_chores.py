from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from heliograph.control.chores import Chore, Chores, long_run
from heliograph.errors import BrokerUnavailable, HeldUp
from tests.waiting import wait_until


@contextmanager
def running(*chores: Chore) -> Iterator[Chores]:
    """Chores at work."""
    made = Chores("a->b", chores)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def test_a_chore_runs_at_once_and_again_after_its_interval() -> None:
    done: list[int] = []

    def count() -> str:
        done.append(1)
        return f"counted {len(done)}"

    with running(Chore("counting", 0.01, count)) as chores:
        wait_until(lambda: len(done) >= 3, "three rounds", 5)
    [report] = chores.reports()
    assert (report.name, report.runs, report.failures) == ("counting", len(done), 0)
    assert report.summary == f"counted {len(done)}"
    assert report.last_success_ms > 0


def test_a_chore_waits_until_it_may_begin_and_for_its_delay() -> None:
    gate, done = threading.Event(), threading.Event()
    chore = Chore("late", 60, lambda: done.set() or "", may_run=gate.is_set, delay=0.2)  # type: ignore[func-returns-value]
    with running(chore):
        assert not done.wait(0.5)
        gate.set()
        began = time.monotonic()
        assert done.wait(5)
        assert time.monotonic() - began >= 0.2


def test_chores_that_may_not_begin_can_be_stopped_and_all_hang_up_at_the_end() -> None:
    closed: list[str] = []
    never = Chore("never", 60, lambda: "", lambda: closed.append("never"), threading.Event().is_set)
    with running(never, Chore("once", 60, lambda: "", lambda: closed.append("once"))) as chores:
        wait_until(lambda: chores.reports()[1].runs == 1, "a first round", 5)
    assert sorted(closed) == ["never", "once"]
    assert chores.reports()[0].runs == 0


def test_a_chore_rests_while_it_may_not_go_on_and_may_have_a_last_time() -> None:
    gate, done = threading.Event(), []
    gate.set()
    chore = Chore("syncs", 0.01, lambda: done.append(1) or "", may_run=gate.is_set, is_done_at_the_end=True)  # type: ignore[func-returns-value]
    with running(chore):
        wait_until(lambda: bool(done), "a first round", 5)
        gate.clear()
        count = -1
        while count != len(done):  # what was under way may still end
            count = len(done)
            threading.Event().wait(0.5)
    assert len(done) == count + 1


def test_after_stop_nothing_begins() -> None:
    done: list[int] = []
    with running(Chore("counting", 0.001, lambda: done.append(1) or "")) as chores:  # type: ignore[func-returns-value]
        wait_until(lambda: bool(done), "a first round", 5)
    count = len(done)
    assert not any(worker.thread.is_alive() for worker in chores._workers)
    assert len(done) == count


def test_a_slow_chore_does_not_hold_up_another() -> None:
    never, done = threading.Event(), threading.Event()
    slow = Chore("slow", 60, lambda: str(never.wait(10)))
    with running(slow, Chore("quick", 60, lambda: done.set() or "")):  # type: ignore[func-returns-value]
        assert done.wait(5)
        never.set()


def test_a_failure_shows_until_it_is_over_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("heliograph.control.chores._FIRST_RETRY_SECONDS", 0.01)
    broken = threading.Event()
    broken.set()

    def action() -> str:
        if broken.is_set():
            raise BrokerUnavailable("backup broker: gone")
        return "done"

    with caplog.at_level(logging.INFO), running(Chore("groups", 0.01, action)) as chores:
        [report] = chores.reports()
        wait_until(lambda: report.failures >= 3, "three failures", 5)
        assert report.failure == "backup broker: gone"
        assert report.failing_since_ms > 0
        assert report.last_success_ms == 0
        broken.clear()
        wait_until(lambda: report.last_success_ms > 0, "a success", 5)
        assert (report.failure, report.failing_since_ms, report.summary) == ("", 0, "done")
    texts = [record.getMessage() for record in caplog.records]
    assert texts == ["a->b: groups: backup broker: gone; will be tried again", "a->b: groups works again"]


def test_an_unexpected_failure_shows_too_and_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.control.chores._FIRST_RETRY_SECONDS", 0.01)
    tries: list[int] = []

    def action() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise KeyError("offset")
        return ""

    with running(Chore("checkpoints", 0.01, action)) as chores:
        [report] = chores.reports()
        wait_until(lambda: report.last_success_ms > 0, "a success", 5)
        assert report.failures == 1


def test_a_run_that_does_not_end_shows_as_a_failure_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.control.chores._LONG_RUN_SECONDS", 1.0)
    is_over = threading.Event()
    with running(Chore("groups", 0.01, lambda: str(is_over.wait(20)))) as chores:
        [report] = chores.reports()
        wait_until(lambda: report.running_seconds > 0, "a run", 5)
        assert report.failure == ""
        wait_until(lambda: report.failure != "", "the failure", 5)
        assert report.failure == "a run does not end: running for 1 s or more"
        assert report.state().failure
        assert report.state().failing_since_ms > 0
        assert report.runs == 0
        is_over.set()
        wait_until(lambda: report.runs > 0, "the end of the run", 5)
        assert (report.failure, report.failing_since_ms, report.running_seconds) == ("", 0, 0)


@pytest.mark.parametrize(
    ("seconds", "interval", "told"),
    [(62, 1, 0), (63, 1, 63), (125, 1, 63), (126, 1, 126), (10_000, 1, 8064), (239, 600, 0), (241, 600, 240)],
)
def test_the_time_of_a_long_run_is_told_in_steps_that_double(seconds: float, interval: float, told: int) -> None:
    """It goes to the ledger whenever it changes."""
    assert long_run(seconds, interval) == told


def test_what_is_in_the_log_already_is_not_logged_again(caplog: pytest.LogCaptureFixture) -> None:
    def held_up() -> str:
        raise HeldUp("lane 0: backup broker: gone")

    with caplog.at_level(logging.INFO), running(Chore("lanes", 60, held_up, is_quiet=True)) as chores:
        [report] = chores.reports()
        wait_until(lambda: report.failure == "lane 0: backup broker: gone", "the failure", 5)
    assert not caplog.records
