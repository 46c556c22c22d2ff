"""What the words of Kafka Connect mean here."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.control.connector import Connector, RunState
from heliograph.control.rest.connect.states import connector_state, task_states
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.engine.flow import FlowDriver
from heliograph.model import Assignment, TopicPartition

_FILE = """
clusters = a, b
a.bootstrap.servers = 127.0.0.1:1
b.bootstrap.servers = 127.0.0.1:2
a->b.enabled = true
a->b.emit.checkpoints.enabled = true
b->a.emit.heartbeats.enabled = false
"""
_LANES = [
    [Assignment(TopicPartition(topic, 0), TopicPartition(f"a.{topic}", 0))] for topic in ("orders", "payments")
]  # fmt: skip


class _Plan:
    """Who copies what."""

    lanes = _LANES


@pytest.fixture
def flow(tmp_path: Path) -> RunningFlow:
    """A flow that was never started."""
    file = tmp_path / "mm2.properties"
    file.write_text(_FILE)
    return RunningMirror(load(file)).flow("a->b")


@pytest.fixture
def driver(flow: RunningFlow) -> FlowDriver:
    """Its driver, in charge, with two lanes."""
    assert flow.driver is not None
    flow.driver._assignments = [lane[0] for lane in _LANES]
    flow.driver._plan = _Plan()  # type: ignore[assignment]
    flow.driver.in_charge.set()
    return flow.driver


def _words(flow: RunningFlow, connector: Connector) -> tuple[str, list[str]]:
    return connector_state(flow, connector).word, [task.word for task in task_states(flow, connector)]


def test_a_flow_that_is_not_ours_yet_is_unassigned_but_its_heartbeats_run(flow: RunningFlow) -> None:
    assert _words(flow, Connector.SOURCE) == ("UNASSIGNED", [])
    assert _words(flow, Connector.CHECKPOINT) == ("UNASSIGNED", ["UNASSIGNED"])
    assert _words(flow, Connector.HEARTBEAT) == ("RUNNING", ["RUNNING"])


def test_a_flow_that_was_ours_and_will_be_again_is_restarting(flow: RunningFlow, driver: FlowDriver) -> None:
    driver.in_charge.clear()
    assert _words(flow, Connector.SOURCE) == ("RESTARTING", ["RESTARTING", "RESTARTING"])


def test_lanes_are_the_tasks_of_a_running_source_connector(flow: RunningFlow, driver: FlowDriver) -> None:
    assert _words(flow, Connector.SOURCE) == ("RUNNING", ["RUNNING", "RUNNING"])


@pytest.mark.parametrize("connector", list(Connector))
@pytest.mark.usefixtures("driver")
def test_a_paused_connector_keeps_its_tasks_and_a_stopped_one_does_not(flow: RunningFlow, connector: Connector) -> None:
    flow.states[connector] = RunState.PAUSED
    word, tasks = _words(flow, connector)
    assert (word, set(tasks)) == ("PAUSED", {"PAUSED"})
    flow.states[connector] = RunState.STOPPED
    assert _words(flow, connector) == ("STOPPED", [])


def test_a_partition_that_is_set_aside_fails_its_lane_alone(flow: RunningFlow, driver: FlowDriver) -> None:
    driver.totals.set_aside[TopicPartition("payments", 0)] = "records are gone"
    assert _words(flow, Connector.SOURCE) == ("RUNNING", ["RUNNING", "FAILED"])
    assert task_states(flow, Connector.SOURCE)[1].reasons == ["payments-0: records are gone"]


def test_trouble_fails_all_lanes(flow: RunningFlow, driver: FlowDriver) -> None:
    driver.failed("the target does not answer")
    assert _words(flow, Connector.SOURCE) == ("RUNNING", ["FAILED", "FAILED"])
    assert _words(flow, Connector.CHECKPOINT) == ("RUNNING", ["RUNNING"])


def test_trouble_before_there_are_lanes_fails_the_connector(flow: RunningFlow) -> None:
    assert flow.driver is not None
    flow.driver.failed("the target does not answer")
    state = connector_state(flow, Connector.SOURCE)
    assert (state.word, list(state.reasons)) == ("FAILED", ["the target does not answer"])


@pytest.mark.usefixtures("driver")
def test_a_failing_chore_of_the_source_connector_fails_it_but_not_its_lanes(flow: RunningFlow) -> None:
    _fail(flow, Connector.SOURCE, "topic settings")
    assert _words(flow, Connector.SOURCE) == ("FAILED", ["RUNNING", "RUNNING"])
    assert list(connector_state(flow, Connector.SOURCE).reasons) == ["topic settings: not allowed"]


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("connector", "chore"), [(Connector.CHECKPOINT, "checkpoints"), (Connector.HEARTBEAT, "heartbeats")]
)
def test_failing_chores_of_the_others_are_failed_tasks(flow: RunningFlow, connector: Connector, chore: str) -> None:
    _fail(flow, connector, chore)
    assert _words(flow, connector) == ("RUNNING", ["FAILED"])
    assert task_states(flow, connector)[0].reasons == [f"{chore}: not allowed"]


def test_a_flow_that_has_ended_has_failed_whatever_it_was_told(flow: RunningFlow, driver: FlowDriver) -> None:
    driver.failed("another mirror has taken over")
    flow.has_ended = lambda: True
    flow.states[Connector.SOURCE] = RunState.PAUSED
    for connector in (Connector.SOURCE, Connector.CHECKPOINT):
        state = connector_state(flow, connector)
        assert (state.word, list(state.reasons)) == ("FAILED", ["another mirror has taken over"])
    assert _words(flow, Connector.SOURCE) == ("FAILED", ["FAILED", "FAILED"])
    assert _words(flow, Connector.CHECKPOINT) == ("FAILED", ["FAILED"])
    assert _words(flow, Connector.HEARTBEAT) == ("RUNNING", ["RUNNING"])


def _fail(flow: RunningFlow, connector: Connector, name: str) -> None:
    [report] = [item for item in flow.reports() if (item.connector, item.name) == (connector, name)]
    report.failed("not allowed")
