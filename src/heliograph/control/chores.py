"""What a flow does again and again beside its lanes: each kind by its name, and what came of it.

A failure is never only logged: it stays in the chore's report until the chore succeeds again, and it is retried sooner
than its interval says.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from heliograph.control.connector import Connector
from heliograph.errors import HeliographError
from heliograph.model import ChoreState

log = logging.getLogger(__name__)

_FIRST_RETRY_SECONDS = 1.0
_LONGEST_RETRY_SECONDS = 30.0
_LOOK_INTERVAL = 0.2
_LONG_RUN_SECONDS = 60.0  # and three times the interval, of which no more than a minute counts


@dataclass(frozen=True)
class Chore:
    """One kind of periodic work; the action says in a few words what it did, if that is worth telling."""

    name: str
    seconds: float
    action: Callable[[], str]
    close: Callable[[], None] = lambda: None  # hangs up
    may_run: Callable[[], bool] = lambda: True  # nothing is done while it says no
    delay: float = 0.0  # seconds from when it may to the first time
    is_done_at_the_end: bool = False  # once more, after all else has stopped
    connector: Connector | None = None  # the part of the flow that it belongs to; none: it watches all of it
    is_quiet: bool = False  # what it finds is in the log already


@dataclass
class ChoreReport:
    """How a chore is getting on."""

    name: str
    seconds: float
    connector: Connector | None = None
    runs: int = 0
    failures: int = 0
    last_success_ms: int = 0
    last_seconds: float = 0.0
    last_failure: str = ""  # why the last run failed
    failed_since_ms: int = 0
    summary: str = ""
    began_at: float | None = None  # the run that is under way
    began_ms: int = 0

    @property
    def running_seconds(self) -> float:
        """For how long the run that is under way has taken; 0 if none is."""
        began_at = self.began_at
        return 0.0 if began_at is None else time.monotonic() - began_at

    @property
    def failure(self) -> str:
        """Why it fails at present. A run that does not end can raise nothing, so it has to be seen."""
        seconds = long_run(self.running_seconds, self.seconds)
        return f"a run does not end: running for {seconds} s or more" if seconds else self.last_failure

    @property
    def failing_since_ms(self) -> int:
        """Since when; 0 if it does not fail."""
        return self.failed_since_ms or (self.began_ms if self.failure else 0)

    def begins(self) -> None:
        """Note that a run begins."""
        self.began_ms, self.began_at = _now_ms(), time.monotonic()

    def ended(self) -> None:
        """Note that it is over, however."""
        self.began_at = None

    def succeeded(self, summary: str, seconds: float) -> None:
        """Note a run that went well."""
        self.runs += 1
        self.last_success_ms, self.last_seconds = _now_ms(), seconds
        self.last_failure, self.failed_since_ms = "", 0
        self.summary = summary or self.summary

    def failed(self, why: str) -> None:
        """Note a run that went wrong."""
        self.runs += 1
        self.failures += 1
        self.failed_since_ms = self.failed_since_ms or _now_ms()
        self.last_failure = why

    def state(self) -> ChoreState:
        """What others need to know of it."""
        return ChoreState(
            self.name, self.seconds, self.last_success_ms, self.failure, self.failing_since_ms, self.summary
        )


@dataclass
class _Worker:
    """One chore with its report and thread."""

    chore: Chore
    report: ChoreReport
    thread: threading.Thread = field(init=False)


class Chores:
    """All chores of one flow, each in a thread of its own: a slow one must not hold up the heartbeats."""

    def __init__(self, flow: str, chores: Iterable[Chore]) -> None:
        self._flow = flow
        self._stopping = threading.Event()
        self._workers: list[_Worker] = []
        for chore in chores:
            self.add(chore)

    def add(self, chore: Chore) -> None:
        """Take one more, before they start."""
        worker = _Worker(chore, ChoreReport(chore.name, chore.seconds, chore.connector))
        name = f"{self._flow} {chore.name}"
        worker.thread = threading.Thread(target=self._run, args=(worker,), name=name, daemon=True)
        self._workers.append(worker)

    def start(self) -> None:
        """Begin, as soon as they may."""
        for worker in self._workers:
            worker.thread.start()

    def begin_stop(self) -> None:
        """Begin nothing new."""
        self._stopping.set()

    def stop(self, timeout: float = 5.0) -> None:
        """Begin nothing new, and wait for what is under way."""
        self.begin_stop()
        deadline = time.monotonic() + timeout
        for worker in self._workers:
            worker.thread.join(max(0.0, deadline - time.monotonic()))

    def reports(self) -> list[ChoreReport]:
        """How all of them are getting on."""
        return [worker.report for worker in self._workers]

    def _run(self, worker: _Worker) -> None:
        retry = _FIRST_RETRY_SECONDS
        delay = worker.chore.delay
        while not self._stopping.is_set():
            if not worker.chore.may_run():
                self._stopping.wait(_LOOK_INTERVAL)
                continue
            if delay:
                self._stopping.wait(delay)
                delay = 0.0
                continue
            began = time.monotonic()
            if self._run_once(worker):
                retry = _FIRST_RETRY_SECONDS
                pause = worker.chore.seconds - (time.monotonic() - began)
            else:
                pause = min(retry, max(worker.chore.seconds, _FIRST_RETRY_SECONDS))
                retry = min(retry * 2, _LONGEST_RETRY_SECONDS)
            self._stopping.wait(max(pause, 0.0))
        if worker.chore.is_done_at_the_end and worker.report.runs:
            self._run_once(worker)
        worker.chore.close()

    def _run_once(self, worker: _Worker) -> bool:
        chore, report = worker.chore, worker.report
        began = time.monotonic()
        report.begins()
        try:
            summary = chore.action()
        except HeliographError as error:
            self._tell_failure(chore, report, str(error))
            return False
        except Exception as error:  # a thread has nobody to raise to; the report shows it, and the log where it was
            log.debug("%s: %s: unexpected failure", self._flow, chore.name, exc_info=True)
            self._tell_failure(chore, report, repr(error))
            return False
        finally:
            report.ended()
        if report.last_failure and not chore.is_quiet:
            log.info("%s: %s works again", self._flow, chore.name)
        report.succeeded(summary, time.monotonic() - began)
        return True

    def _tell_failure(self, chore: Chore, report: ChoreReport, why: str) -> None:
        if why != report.last_failure and not chore.is_quiet:
            log.warning("%s: %s: %s; will be tried again", self._flow, report.name, why)
        report.failed(why)


def long_run(seconds: float, interval: float) -> int:
    """Seconds that a run has taken at least, if that is far longer than its interval; 0 if it is not.

    The number only doubles: it is written to the ledger whenever it changes.
    """
    found, limit = 0.0, _LONG_RUN_SECONDS + 3 * min(interval, _LONG_RUN_SECONDS)
    while seconds >= limit:
        found, limit = limit, 2 * limit
    return int(found)


def _now_ms() -> int:
    return int(time.time() * 1000)
