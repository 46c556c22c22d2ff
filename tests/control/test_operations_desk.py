from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.control import operations_desk
from heliograph.control.operation_order import Kind, OperationOrder, Work
from heliograph.control.operations_desk import FlowBusy, OperationRun, OperationsDesk
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import HeliographError, OperationFailed, StepFailed
from heliograph.recovery.operation import OperationReport, PlannedStep, StepReport, StepState
from tests.waiting import wait_until

_FILE = """\
clusters = a, b, c
a.bootstrap.servers = 127.0.0.1:1
b.bootstrap.servers = 127.0.0.1:1
c.bootstrap.servers = 127.0.0.1:1
a->b.enabled = true
b->a.enabled = true
a->c.enabled = true
"""


class SlowWork:
    """Tells how far it is until it is let go; as operations do, it fails with whatever a listener raises."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.report = OperationReport("switchover", "a->b", [StepReport("wait", "Wait")])
        self.on_change: Callable[[OperationReport], None] = lambda _: None
        self.may_end = threading.Event()
        self._failure = failure

    def preview(self) -> list[PlannedStep]:
        """Nothing to see."""
        return []

    def run(self) -> OperationReport:
        """Wait."""
        line = self.report.steps[0]
        self.report.id, line.state = "switchover-1", StepState.RUNNING
        self.on_change(self.report)  # before the step's own work
        line.text = "waiting"
        try:
            while not self.may_end.wait(0.01):
                self.on_change(self.report)
            if self._failure:
                raise self._failure
        except HeliographError as error:
            line.state, self.report.state, self.report.error = StepState.FAILED, "failed", f"stopped: {error}"
            raise OperationFailed(self.report.error) from error
        line.state, self.report.state = StepState.DONE, "done"
        return self.report

    def undo(self) -> OperationReport:
        """Put nothing back."""
        self.report.id, self.report.state = "switchover-2", "put back"
        return self.report

    def details(self) -> dict[str, Any]:
        """Nothing."""
        return {}


class Order(OperationOrder):
    """An order whose work is at hand."""

    works: list[Work] = []  # noqa: RUF012 - of one test at a time

    def work(self, config: MirrorConfig) -> Work:
        """The next one."""
        return self.works.pop(0)


@pytest.fixture
def mirror(tmp_path: Path) -> RunningMirror:
    """Three flows that were never started."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return RunningMirror(load(file, environment={}))


@pytest.fixture
def desk(mirror: RunningMirror) -> Iterator[OperationsDesk]:
    """A desk whose operations all end."""
    desk = OperationsDesk(mirror)
    Order.works = []
    yield desk
    desk.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("operation ")]


def _flow(mirror: RunningMirror, name: str) -> FlowConfig:
    return mirror.flow(name).config


def _begin(
    desk: OperationsDesk, order: OperationOrder, work: Work | None = None, ended: list[OperationRun] | None = None
) -> OperationRun:
    Order.works.append(work or SlowWork())
    try:
        return desk.begin(order, "me", lambda: None, (ended if ended is not None else []).append)
    finally:
        Order.works.clear()


def test_a_run_has_the_journals_name_and_is_over_when_its_work_is(desk: OperationsDesk, mirror: RunningMirror) -> None:
    work, ended = SlowWork(), list[OperationRun]()
    run = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b")), work, ended)
    assert (run.id, run.state, run.by) == ("switchover-1", "running", "me")
    assert desk.find("switchover-1", "a->b") is run
    assert desk.find("switchover-1", "a->c") is None
    work.may_end.set()
    wait_until(lambda: bool(ended), "the end")
    assert ended == [run]
    assert (run.state, run.error) == ("done", "")


@pytest.mark.parametrize(
    ("flow", "kind", "is_busy"),
    [
        ("a->b", Kind.SWITCHOVER, True),
        ("b->a", Kind.FAILOVER, True),
        ("a->c", Kind.SWITCHOVER, False),
        ("a->b", Kind.VERIFY, False),
    ],
)
def test_two_clusters_have_one_operation_at_a_time(
    desk: OperationsDesk, mirror: RunningMirror, flow: str, kind: Kind, is_busy: bool
) -> None:
    _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b")))
    if is_busy:
        with pytest.raises(FlowBusy, match="switchover of a->b is under way"):
            _begin(desk, Order(kind, _flow(mirror, flow)))
    else:
        assert _begin(desk, Order(kind, _flow(mirror, flow))).state == "running"


def test_a_comparison_holds_up_no_failover(desk: OperationsDesk, mirror: RunningMirror) -> None:
    _begin(desk, Order(Kind.VERIFY, _flow(mirror, "a->b")))
    assert _begin(desk, Order(Kind.FAILOVER, _flow(mirror, "a->b"))).state == "running"
    with pytest.raises(FlowBusy):
        _begin(desk, Order(Kind.VERIFY, _flow(mirror, "a->b")))


def test_the_next_may_begin_as_soon_as_one_is_seen_to_be_over(desk: OperationsDesk, mirror: RunningMirror) -> None:
    order = Order(Kind.SWITCHOVER, _flow(mirror, "a->b"))
    for _ in range(20):
        work = SlowWork()
        work.may_end.set()
        assert _begin(desk, order, work).is_over.wait(5)


def test_an_operation_that_cannot_be_made_leaves_the_flow_free(desk: OperationsDesk, mirror: RunningMirror) -> None:
    order = Order(Kind.SWITCHOVER, _flow(mirror, "a->b"))
    with pytest.raises(IndexError):
        desk.begin(order, "me", lambda: None, lambda _: None)
    assert desk.runs() == []
    assert _begin(desk, order).state == "running"


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (StepFailed("two records differ"), "stopped: two records differ"),
        (ValueError("a bug"), "something unexpected went wrong; the log tells what"),
    ],
)
def test_errors_end_in_the_report(desk: OperationsDesk, mirror: RunningMirror, failure: Exception, error: str) -> None:
    work = SlowWork(failure)
    work.may_end.set()
    run = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b")), work)
    assert run.is_over.wait(5)
    assert (run.state, run.error) == ("failed", error)


def test_one_that_is_told_to_stop_ends_within_its_step(desk: OperationsDesk, mirror: RunningMirror) -> None:
    run = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b")))
    run.stop()
    assert run.is_over.wait(5)
    assert (run.state, run.error) == ("failed", "stopped: interrupted")


def test_the_end_of_the_process_stops_all_and_waits_only_so_long(
    desk: OperationsDesk, mirror: RunningMirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b")))
    stubborn = SlowWork()
    other = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->c")), stubborn)
    stubborn.on_change = lambda _: None  # it never tells how far it is
    monkeypatch.setattr(operations_desk, "_END_SECONDS", 0.3)
    desk.close()
    assert run.state == "failed"
    assert other.state == "running"
    stubborn.may_end.set()


def test_undoing_is_a_run_of_its_own(desk: OperationsDesk, mirror: RunningMirror) -> None:
    run = _begin(desk, Order(Kind.SWITCHOVER, _flow(mirror, "a->b"), is_undo=True))
    assert run.is_over.wait(5)
    assert (run.id, run.state) == ("switchover-2", "put back")
