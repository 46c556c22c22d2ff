"""Positions over REST: when they may be changed, and that no lane writes any meanwhile."""

from __future__ import annotations

import threading

import httpx
import pytest

from heliograph.control.connector import Connector, RunState
from heliograph.control.connector_offsets import ConnectorOffset, ConnectorOffsets
from heliograph.control.rest.connect import offsets
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.engine.flow import FlowDriver
from heliograph.model import TopicPartition
from tests.control.rest_connect.station import HEARTBEAT, SOURCE

_PATH = f"{SOURCE}/offsets"
_BODY = {"offsets": [{"partition": {"cluster": "a", "topic": "t", "partition": 0}, "offset": {"offset": 5}}]}


class Desk:
    """A flow that never starts, and notes of what happens to it."""

    def __init__(self, mirror: RunningMirror, monkeypatch: pytest.MonkeyPatch) -> None:
        self.flow = mirror.flow("a->b")
        assert self.flow.driver is not None
        self.driver: FlowDriver = self.flow.driver
        self.driver.in_charge.set()
        self.driver.totals.last_offsets[TopicPartition("t", 0)] = 99
        self.notes: list[str] = []
        self.comes_to_rest = True
        monkeypatch.setattr(mirror, "restart", self._restart)
        monkeypatch.setattr(ConnectorOffsets, "read", lambda _: [])
        monkeypatch.setattr(ConnectorOffsets, "alter", self._alter)
        monkeypatch.setattr(FlowDriver, "confirm_owner", lambda _: self.notes.append("positions are read"))

    def _restart(self, flow: RunningFlow, connector: Connector) -> None:
        assert (flow, connector) == (self.flow, Connector.SOURCE)
        self.notes.append("lanes are ended")
        self.driver.in_charge.clear()
        if self.comes_to_rest:
            threading.Timer(0.3, self._take_over).start()

    def _take_over(self) -> None:
        self.notes.append("lanes are fenced")
        self.driver.in_charge.set()

    def _alter(self, _: list[ConnectorOffset]) -> list[TopicPartition]:
        self.notes.append("positions are written")
        return [TopicPartition("t", 0)]


@pytest.fixture
def desk(mirror: RunningMirror, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Its flow, stopped."""
    found = Desk(mirror, monkeypatch)
    found.flow.states[Connector.SOURCE] = RunState.STOPPED
    return found


def test_positions_are_written_only_when_no_lane_can_write_any_more(desk: Desk, client: httpx.Client) -> None:
    assert client.patch(_PATH, json=_BODY).status_code == 200
    assert desk.notes == ["lanes are ended", "lanes are fenced", "positions are written", "positions are read"]
    assert desk.driver.totals.last_offsets == {}


def test_lanes_that_do_not_end_hold_up_the_change(
    desk: Desk, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offsets, "_REST_SECONDS", 0.1)
    desk.comes_to_rest = False
    assert client.patch(_PATH, json=_BODY).status_code == 503
    assert desk.notes == ["lanes are ended"]


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.PAUSED])
def test_a_connector_must_be_stopped_before(desk: Desk, client: httpx.Client, state: RunState) -> None:
    desk.flow.states[Connector.SOURCE] = state
    for answer in (client.patch(_PATH, json=_BODY), client.delete(_PATH)):
        assert answer.status_code == 400
        assert "Connectors must be in the STOPPED state" in answer.json()["message"]
    assert desk.notes == []


def test_a_flow_that_belongs_to_another_process_is_left_alone(desk: Desk, client: httpx.Client) -> None:
    desk.driver.in_charge.clear()
    assert client.patch(_PATH, json=_BODY).status_code == 409
    desk.driver.in_charge.set()
    desk.flow.has_ended = lambda: True
    assert client.delete(_PATH).status_code == 409
    assert desk.notes == []


def test_a_bad_position_is_told_before_anything_is_ended(desk: Desk, client: httpx.Client) -> None:
    bad = {"offsets": [*_BODY["offsets"], {"partition": {"topic": "t"}, "offset": {"offset": 1}}]}
    assert client.patch(_PATH, json=bad).status_code == 400
    assert desk.notes == []


def test_positions_of_other_connectors_need_no_lane_to_end(desk: Desk, client: httpx.Client) -> None:
    desk.flow.states[Connector.HEARTBEAT] = RunState.STOPPED
    place = {"sourceClusterAlias": "a", "targetClusterAlias": "b"}
    body = {"offsets": [{"partition": place, "offset": {"offset": 0}}]}
    assert client.patch(f"{HEARTBEAT}/offsets", json=body).status_code == 200
    assert desk.notes == ["positions are written"]
