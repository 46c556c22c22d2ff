"""How connectors and their tasks are, in Kafka Connect's words, from what the process knows itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fastapi import Request

from heliograph import __version__
from heliograph.control.connector import Connector, RunState
from heliograph.control.rest.connect.answers import SOURCE, ConnectorStateAnswer, StatusAnswer, TaskStateAnswer
from heliograph.control.rest.connect.names import NamedConnector
from heliograph.control.running_flow import RunningFlow

RUNNING = RunState.RUNNING.value
FAILED = "FAILED"
UNASSIGNED = "UNASSIGNED"  # another process may have the flow; this one has not taken it over yet
RESTARTING = "RESTARTING"


@dataclass(frozen=True)
class State:
    """One of Connect's words, and the reasons for it where it is bad."""

    word: str
    reasons: Sequence[str] = field(default_factory=tuple)


def connector_state(flow: RunningFlow, connector: Connector) -> State:
    """How the part of a flow is as a whole."""
    if connector is not Connector.HEARTBEAT and flow.has_ended():
        return State(FAILED, [*_trouble(flow, at_any_time=True)] or ["the flow has ended"])
    if flow.states[connector] is not RunState.RUNNING:
        return State(flow.states[connector].value)
    if not _is_at_work(flow, connector):
        return _waiting(flow, connector)
    reasons = [*_failures_beside_lanes(flow)] if connector is Connector.SOURCE else []
    return State(FAILED, reasons) if reasons else State(RUNNING)


def _is_at_work(flow: RunningFlow, connector: Connector) -> bool:
    """Whether it may do what it is there for; heartbeats need not wait until the flow is ours."""
    if flow.states[connector] is not RunState.RUNNING:
        return False
    is_ours = flow.driver is not None and flow.driver.in_charge.is_set() and not flow.has_ended()
    return is_ours or connector is Connector.HEARTBEAT


def _waiting(flow: RunningFlow, connector: Connector) -> State:
    if connector is Connector.SOURCE and (reasons := [*_trouble(flow)]):
        return State(FAILED, reasons)
    was_ours = flow.driver is not None and bool(flow.driver.assignments)
    return State(RESTARTING if was_ours else UNASSIGNED)


def _failures_beside_lanes(flow: RunningFlow) -> Iterator[str]:
    """What fails of a source connector and shows in no task."""
    if not flow.lanes():
        yield from _trouble(flow)
    yield from _failing_chores(flow, Connector.SOURCE)


def task_states(flow: RunningFlow, connector: Connector) -> list[State]:
    """How each task is: the lanes of the source connector, the chores of another one."""
    if flow.states[connector] is RunState.STOPPED:
        return []
    failures = [*_failures_by_task(flow, connector)]
    if not _is_at_work(flow, connector):
        return [connector_state(flow, connector)] * len(failures)
    return [State(FAILED, reasons) if reasons else State(RUNNING) for reasons in failures]


def _failures_by_task(flow: RunningFlow, connector: Connector) -> Iterator[Sequence[str]]:
    if connector is Connector.SOURCE:
        yield from (lane.failures for lane in flow.lanes())
    elif any(report.connector is connector for report in flow.reports()):  # else the file does not ask for it
        yield [*_failing_chores(flow, connector)]


def _failing_chores(flow: RunningFlow, connector: Connector) -> Iterator[str]:
    for report in flow.reports():
        if report.connector is connector and report.failure:
            yield f"{report.name}: {report.failure}"


def _trouble(flow: RunningFlow, at_any_time: bool = False) -> Iterator[str]:
    trouble = flow.driver.trouble if flow.driver else None
    if trouble is not None and (at_any_time or trouble.is_current):
        yield trouble.text


def status_of(asked: NamedConnector, worker: str) -> StatusAnswer:
    """A connector and its tasks."""
    whole = connector_state(asked.flow, asked.connector)
    tasks = task_states(asked.flow, asked.connector)
    return StatusAnswer(
        name=asked.name,
        connector=ConnectorStateAnswer(**_fields(whole, worker)),
        tasks=[task_answer(number, state, worker) for number, state in enumerate(tasks)],
        type=SOURCE,
    )


def task_answer(number: int, state: State, worker: str) -> TaskStateAnswer:
    """One task."""
    return TaskStateAnswer(id=number, **_fields(state, worker))


def _fields(state: State, worker: str) -> dict[str, str]:
    trace = {"trace": "\n".join(state.reasons)} if state.reasons else {}
    return {"state": state.word, "worker_id": worker, "version": __version__, **trace}


def worker_id(request: Request) -> str:
    """The address that answers, as Connect names a worker."""
    host, port = request.scope["server"]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
