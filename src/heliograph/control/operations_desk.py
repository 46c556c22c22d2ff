"""The operations of this process: begins them, one at a time for a pair of clusters, and remembers how they went."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import copy_context

from heliograph.control.operation_order import OperationOrder, Work
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import HeliographError, OperationFailed
from heliograph.recovery.journal import operation_id
from heliograph.recovery.operation import OperationReport, StepState

log = logging.getLogger(__name__)

RUNNING, FAILED = "running", "failed"
_KEPT = 100
_BEGIN_SECONDS = 10.0  # for the journal to give an operation its name
_LOOK_SECONDS = 0.02
_END_SECONDS = 8.0
_UNEXPECTED = "something unexpected went wrong; the log tells what"


class FlowBusy(OperationFailed):
    """Another operation is under way between the same two clusters."""


class OperationRun:
    """One operation that was begun here."""

    def __init__(self, order: OperationOrder, work: Work, by: str) -> None:
        self.order = order
        self.by = by
        self._work = work
        self._began = time.time()
        self._first_name = operation_id(order.kind.value, int(self._began * 1000)) + "-new"
        self._seconds = 0.0
        self._error = ""
        self._is_told_to_stop = threading.Event()
        self.is_over = threading.Event()
        work.on_change = self._changed

    @property
    def id(self) -> str:
        """As the journal calls it; a name of our own until that is known."""
        return self.report.id or self._first_name

    def answers_to(self, identity: str) -> bool:
        """Whether it has that name, or had it before the journal gave it another."""
        return identity in (self.report.id, self._first_name)

    @property
    def report(self) -> OperationReport:
        """Its steps, which change while it runs."""
        return self._work.report

    @property
    def began_at_ms(self) -> int:
        """When this process began it; the journal may know of an earlier beginning."""
        return int(self._began * 1000)

    @property
    def state(self) -> str:
        """`running`, and at the end `done`, `failed` or `put back`."""
        if not self.is_over.is_set():
            return RUNNING
        return FAILED if self._error else self.report.state

    @property
    def error(self) -> str:
        """Why it ended before its end."""
        return self.report.error or self._error

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return self._seconds if self.is_over.is_set() else time.time() - self._began

    def details(self) -> dict[str, object]:
        """All that its steps have found out so far."""
        return self._work.details()

    def perform(self) -> None:
        """Do it, or put it back; whatever goes wrong is part of the answer."""
        try:
            if self.order.is_undo:
                self._work.undo()
            else:
                self._work.run()
        except HeliographError as error:
            self._error = str(error) or _UNEXPECTED
        except Exception:
            log.exception("%s has failed in a way that nobody expected", self.order)
            self._error = _UNEXPECTED
        self._seconds = time.time() - self._began

    def stop(self) -> None:
        """Let it end as it does with Ctrl-C: at the next moment at which its step tells how far it is."""
        self._is_told_to_stop.set()

    def _changed(self, report: OperationReport) -> None:
        # Only within a step's own work, which has said something: there errors are expected, and things put back.
        is_inside = any(step.state is StepState.RUNNING and step.text for step in report.steps)
        if is_inside and self._is_told_to_stop.is_set():
            raise OperationFailed("interrupted")

    def await_name(self) -> None:
        """Wait until the journal knows it, or it is over; not for long."""
        deadline = time.monotonic() + _BEGIN_SECONDS
        while not self.report.id and time.monotonic() < deadline and not self.is_over.wait(_LOOK_SECONDS):
            pass


class OperationsDesk:
    """Takes orders for the flows of a running mirror."""

    def __init__(self, mirror: RunningMirror) -> None:
        self._mirror = mirror
        self._lock = threading.Lock()
        self._claims: dict[frozenset[str], str] = {}
        self._runs: deque[OperationRun] = deque(maxlen=_KEPT)
        self._threads: dict[OperationRun, threading.Thread] = {}

    def runs(self) -> list[OperationRun]:
        """All that is remembered, the newest first."""
        with self._lock:
            return list(self._runs)

    def find(self, identity: str, flow: str | None = None) -> OperationRun | None:
        """The newest of that name; two flows may have one each, if they were begun in the same second."""
        fits = (run for run in self.runs() if run.answers_to(identity) and flow in (None, run.order.flow.name))
        return next(fits, None)

    def begin(
        self, order: OperationOrder, by: str, on_begin: Callable[[], None], on_end: Callable[[OperationRun], None]
    ) -> OperationRun:
        """Start it in a thread of its own. Raises FlowBusy, or what keeps it from beginning at all.

        `on_begin` is called before anything is done.
        """
        self._take(order)
        try:
            run = OperationRun(order, order.work(self._mirror.config), by)
            on_begin()
        except BaseException:
            self._give_back(order)
            raise
        context = copy_context()  # the audit wants to know at the end who had asked from where
        thread = threading.Thread(
            target=context.run, args=(self._perform, run, on_end), name=f"operation {order}", daemon=True
        )
        with self._lock:
            self._runs.appendleft(run)
            self._threads[run] = thread
        thread.start()
        run.await_name()
        return run

    def close(self) -> None:
        """This process ends: what runs is stopped, and can be gone on with by whoever runs it again."""
        with self._lock:
            running = dict(self._threads)
        for run in running:
            run.stop()
        deadline = time.monotonic() + _END_SECONDS
        for run, thread in running.items():
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                log.warning("%s did not stop in time: run it again, and it goes on", run.order)

    def _perform(self, run: OperationRun, on_end: Callable[[OperationRun], None]) -> None:
        try:
            run.perform()
        finally:
            with self._lock:
                del self._threads[run]
            self._give_back(run.order)  # first: who sees that it is over may begin the next
            run.is_over.set()
        on_end(run)

    def _take(self, order: OperationOrder) -> None:
        with self._lock:
            if (other := self._claims.get(order.claim)) is not None:
                raise FlowBusy(f"{other} is under way; wait for its end, or stop it")
            self._claims[order.claim] = str(order)

    def _give_back(self, order: OperationOrder) -> None:
        with self._lock:
            del self._claims[order.claim]
