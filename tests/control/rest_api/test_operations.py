"""Operations over the API of a real mirror, which goes on mirroring in the same process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from heliograph.control.connector import Connector, RunState
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.recovery.flow_gate import FlowGate
from tests.chaos.stage import admin_of
from tests.control.rest.serving import LOOPBACK, TOKENS, Lines, token_of
from tests.recovery.move_stage import PARTITIONS, MoveStage, access, values
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

_QUICK = {"quiet_seconds": 0.5, "patience_seconds": 60}
_STEPS = {
    "switchover": ["check", "producers", "drain", "consumers", "groups", "verify", "close"],
    "failover": ["check", "close", "survey", "groups"],
    "failback": [
        "check", "close", "tail", "reopen", "mirror", "producers", "drain", "consumers", "groups", "verify", "release",
        "open",
    ],
    "verify": ["compare"],
}  # fmt: skip


class Desk:
    """A mirror in both directions, its groups, and those who ask for operations."""

    def __init__(self, stage: MoveStage) -> None:
        self.stage = stage
        with stage.file.open("a") as lines:
            lines.write(TOKENS)
        self.mirror = RunningMirror(stage.config)
        self.server = RestServer(self.mirror, (LOOPBACK,))

    def request(self, method: str, path: str = "", role: str = "admin", **more: Any) -> httpx.Response:
        """One request about operations."""
        headers = {"Authorization": f"Bearer {token_of(role)}"}
        address = f"{self.server.addresses[0]}/api/v1/operations{path}"
        return httpx.request(method, address, headers=headers, timeout=60, trust_env=False, **more)

    def post(self, operation: str, role: str = "admin", **more: Any) -> httpx.Response:
        """Ask for an operation on the flow, confirmed."""
        body = {"operation": operation, "flow": self.stage.flow.name, "confirm": self.stage.flow.name, **more}
        return self.request("POST", "", role, json=body)

    def begin(self, operation: str, **more: Any) -> str:
        """Begin one; where it can be asked about."""
        answer = self.post(operation, **more)
        assert answer.status_code == 202, answer.text
        assert answer.json()["state"] in ("running", "done", "put back")  # some are over in no time
        prefix, location = "/api/v1/operations", answer.headers["Location"]
        assert location.startswith(f"{prefix}/{answer.json()['id']}?")
        return str(location.removeprefix(prefix))

    def look(self, path: str) -> dict[str, Any]:
        """What the API tells a viewer."""
        answer = self.request("GET", path, "viewer")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def await_end(self, path: str, seconds: float = 90) -> dict[str, Any]:
        """Wait until an operation is over."""
        wait_until(lambda: self.look(path)["state"] != "running", "the end of an operation", seconds, 0.2)
        return self.look(path)

    def await_wait_for_producers(self, path: str) -> None:
        """Wait until an operation waits for producers, and names what they write to."""

        def waits() -> bool:
            step = self.look(path)["steps"][1]
            return step["state"] == "running" and f"still growing: {self.stage.topic}" in step["text"]

        wait_until(waits, "a step that waits for producers", 30, 0.1)

    def await_checkpoints(self) -> None:
        """Wait until the target knows all that groups have committed on the source."""
        committed = self.stage.committed(self.stage.source)
        wanted = {
            (name, where.partition): item.offset for name, items in committed.items() for where, item in items.items()
        }

        def are_known() -> bool:
            rows = self.post("failover", dry_run=True).json()["details"].get("groups", ())
            return {(row["group"], row["partition"]): row["source_offset"] for row in rows} == wanted

        wait_until(are_known, "checkpoints of all that groups have read", 30, 0.5)

    def await_flow(self, state: RunState) -> None:
        """Wait until the mirror of this process has heard of it."""
        states = self.mirror.flow(self.stage.flow.name).states
        wait_until(lambda: states[Connector.SOURCE] is state, f"a flow that is {state.value}", 30, 0.1)


@pytest.fixture(scope="module")
def desk(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A mirror that has copied what there was."""
    stage = MoveStage(primary, backup, tmp_path_factory.mktemp("operations"), both_ways=True)
    made = Desk(stage)
    made.server.start()
    made.mirror.start()
    try:
        with stage.load():
            stage.await_growth()
            stage.commit_somewhere()
        made.await_checkpoints()
        yield made
    finally:
        made.server.stop()
        made.mirror.stop()


@pytest.fixture
def audited() -> Iterator[Lines]:
    """What the audit writes to the log."""
    lines, logger = Lines(), logging.getLogger("heliograph.audit")
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)


@pytest.mark.parametrize("operation", _STEPS)
def test_a_dry_run_shows_what_would_happen_and_changes_nothing(desk: Desk, operation: str, audited: Lines) -> None:
    before = desk.stage.committed(desk.stage.target)

    answer = desk.post(operation, "operator", dry_run=True, confirm=None)

    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["operation"], found["flow"]) == (operation, desk.stage.flow.name)
    assert (found["can_begin"], found["problems"]) == (True, [])
    assert [step["step"] for step in found["steps"]] == _STEPS[operation]
    assert all(step["would"] for step in found["steps"])
    if operation in ("switchover", "failover"):
        assert {row["group"] for row in found["details"]["groups"]} == set(desk.stage.groups)
    assert not FlowGate(desk.stage.flow).is_closed
    assert desk.stage.committed(desk.stage.target) == before
    assert desk.look("")["operations"] == []
    [line] = audited.parsed()
    assert (line["who"], line["what"]) == ("operators", f"dry run of {operation} of {desk.stage.flow.name}")


def test_a_dry_run_tells_what_stands_in_the_way(desk: Desk) -> None:
    answer = desk.post("switchover", dry_run=True, options={"fence": "acl"})  # there is no authorizer
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert not found["can_begin"]
    [problem] = found["problems"]
    assert problem.startswith("producers: ")
    assert found["steps"][1]["problems"] == [problem.removeprefix("producers: ")]


def test_a_failback_needs_somebody_who_mirrors_back(desk: Desk, tmp_path: Path) -> None:
    lonely = Desk(MoveStage(desk.stage.source, desk.stage.target, tmp_path))  # in one direction, and never started
    lonely.server.start()
    try:
        why = f"nobody mirrors {lonely.stage.b}->{lonely.stage.a}: "
        seen = lonely.post("failback", dry_run=True).json()
        assert (seen["can_begin"], seen["problems"][0].startswith(why)) == (False, True)
        refused = lonely.post("failback")
        assert (refused.status_code, refused.json()["message"].startswith(why)) == (400, True)
        assert lonely.look("")["operations"] == []
    finally:
        lonely.server.stop()


def test_operators_verify_without_a_confirmation(desk: Desk) -> None:
    answer = desk.post("verify", "operator", confirm=None, options={"verify_seconds": None})
    assert answer.status_code == 202, answer.text
    found = desk.await_end(f"/{answer.json()['id']}")
    assert found["state"] == "done"
    written = sum(len(items) for items in values(desk.stage.source, desk.stage.topic).values())
    assert found["details"]["compared_records"] == written > 0
    assert found["details"]["differences"] == []
    assert found["steps"][0]["text"].startswith(f"{written:,} records")


def test_a_switchover_waits_for_producers_and_moves_groups(desk: Desk, audited: Lines) -> None:
    stage = desk.stage
    with stage.load():
        path = desk.begin("switchover", options=_QUICK)
        desk.await_wait_for_producers(path)
        for flow in (stage.flow.name, f"{stage.b}->{stage.a}"):
            refused = desk.post("failover", flow=flow, confirm=flow)
            assert refused.status_code == 409
            assert refused.json()["message"].startswith(f"switchover of {stage.flow.name} is under way")
        assert desk.post("verify", options={"verify_seconds": 60}).status_code == 202
    found = desk.await_end(path)

    assert (found["state"], found["error"], found["by"]) == ("done", "", "admins")
    assert [(step["step"], step["state"]) for step in found["steps"]] == [(n, "done") for n in _STEPS["switchover"]]
    assert all(step["text"] for step in found["steps"])
    assert len(found["details"]["groups"]) == len(stage.groups) * PARTITIONS
    assert stage.rests(stage.target, [stage.copy]) == stage.rests(stage.source, [stage.topic])
    assert FlowGate(stage.flow).is_closed
    desk.await_flow(RunState.STOPPED)
    wait_until(lambda: any(line["what"].startswith("end of switchover") for line in audited.parsed()), "a line")
    lines = {line["what"]: line for line in audited.parsed() if line["outcome"] == "done"}
    begun, ended = (lines[f"{word} of switchover of {stage.flow.name}"] for word in ("begin", "end"))
    assert (begun["who"], begun["after"]) == ("admins", {"options": _QUICK})
    assert (ended["who"], ended["remote"]) == ("admins", begun["remote"])
    assert ended["after"] == {"id": found["id"], "state": "done", "error": ""}


def test_operations_stand_together_the_newest_first(desk: Desk) -> None:
    found = desk.look("")
    assert found["unread"] == []
    assert [item["operation"] for item in found["operations"]] == ["verify", "switchover", "verify"]
    times = [item["began_at_ms"] for item in found["operations"]]
    assert times == sorted(times, reverse=True)


def test_another_process_knows_them_from_the_journal(desk: Desk) -> None:
    [ours] = [item for item in desk.look("")["operations"] if item["operation"] == "switchover"]
    other = Desk.__new__(Desk)
    other.stage, other.mirror, other.server = desk.stage, desk.mirror, RestServer(desk.mirror, (LOOPBACK,))
    other.server.start()
    try:
        wait_until(lambda: bool(other.look("")["operations"]), "operations of the journal", 15, 0.5)
        [told] = other.look("")["operations"]
        assert {**told, "by": "", "seconds": 0, "began_at_ms": 0} == {
            **ours, "by": "", "seconds": 0, "began_at_ms": 0, "is_here": False,
        }  # fmt: skip
        steps = other.look(f"/{told['id']}")["steps"]
        assert [(step["step"], step["state"]) for step in steps] == [(n, "done") for n in _STEPS["switchover"]]
    finally:
        other.server.stop()


def test_a_switchover_can_be_undone(desk: Desk) -> None:
    found = desk.await_end(desk.begin("switchover", undo=True))
    assert (found["state"], found["is_undo"]) == ("put back", True)
    assert not FlowGate(desk.stage.flow).is_closed
    with desk.stage.load():
        desk.stage.await_growth()


def test_one_that_is_told_to_stop_puts_things_back(desk: Desk, audited: Lines) -> None:
    with desk.stage.load():
        path = desk.begin("switchover", options={**_QUICK, "fence": None})
        desk.await_wait_for_producers(path)
        name, _, query = path.partition("?")
        assert desk.request("POST", f"{name}/stop?{query}", "operator").status_code == 403
        assert desk.request("POST", f"{name}/stop?{query}").status_code == 202
        found = desk.await_end(path)
    assert found["state"] == "failed"
    assert "stopped at step producers: interrupted" in found["error"]
    assert [step["state"] for step in found["steps"]][:3] == ["done", "failed", "waiting"]
    assert not FlowGate(desk.stage.flow).is_closed
    assert desk.request("POST", f"{name}/stop?{query}").status_code == 409
    assert any(line["what"].endswith("told to stop") for line in audited.parsed())


def test_the_end_of_the_process_stops_it_so_that_it_can_be_run_again(desk: Desk) -> None:
    ending = Desk.__new__(Desk)
    ending.stage, ending.mirror, ending.server = desk.stage, desk.mirror, RestServer(desk.mirror, (LOOPBACK,))
    ending.server.start()
    with desk.stage.load():
        path = ending.begin("switchover", options={**_QUICK, "fence": None})
        ending.await_wait_for_producers(path)
        ending.server.stop()
    name = path.partition("?")[0].removeprefix("/")
    wait_until(lambda: any(item["id"] == name for item in desk.look("")["operations"]), "the journal's word", 15, 0.5)
    found = desk.look(path)
    assert (found["is_here"], found["state"], found["error"]) == (False, "failed", "interrupted")
    assert not FlowGate(desk.stage.flow).is_closed


def test_a_failover_closes_the_flow_and_tells_what_is_missing(desk: Desk) -> None:
    stage = desk.stage
    stage.commit_somewhere(seed=2)
    desk.await_checkpoints()
    wait_until(lambda: desk.post("failover", dry_run=True).json()["details"]["missing_records"] == 0, "all records", 30)
    found = desk.await_end(desk.begin("failover"))

    assert (found["state"], found["error"]) == ("done", "")
    assert [(step["step"], step["state"]) for step in found["steps"]] == [(n, "done") for n in _STEPS["failover"]]
    assert found["details"]["missing_records"] == 0
    assert len(found["details"]["partitions"]) == PARTITIONS
    assert {row["group"] for row in found["details"]["groups"]} == set(stage.groups)
    assert FlowGate(stage.flow).is_closed


def test_a_failback_keeps_what_was_not_mirrored_in_a_topic(desk: Desk) -> None:
    stage = desk.stage
    desk.await_flow(RunState.STOPPED)
    before = {value for items in values(stage.source, stage.topic).values() for _, value in items}
    with stage.load() as load:
        wait_until(lambda: load.acknowledged >= 200, "records that are never mirrored")
    after = {value for items in values(stage.source, stage.topic).values() for _, value in items}

    found = desk.await_end(desk.begin("failback", options=_QUICK))

    assert (found["state"], found["error"]) == ("done", "")
    tail = found["details"]["tail"]
    assert tail["saved_to"].startswith(f"topic heliograph-tail.{stage.a}.")
    saved = list(reading.read_single(access(stage.target), tail["saved_to"].removeprefix("topic ")))
    assert {record.value for record in saved} == after - before
    assert tail["records"] == len(saved) == len(after - before) > 0
    assert not FlowGate(stage.flow).is_closed


def test_a_drill_shows_what_it_would_create(desk: Desk) -> None:
    seen = desk.post("drill", "operator", dry_run=True).json()
    assert seen["can_begin"] is True, seen
    assert "topic heliograph-drill-" in seen["steps"][0]["would"]
    assert desk.post("drill", "operator").status_code == 403
    assert desk.post("drill", confirm=None).status_code == 400


def test_a_drill_that_is_told_to_stop_leaves_nothing_behind(desk: Desk) -> None:
    path = desk.begin("drill", options={"drill_seconds": 60, "drill_groups": 2})
    wait_until(lambda: "mirror running" in desk.look(path)["steps"][0]["text"], "its second step", 60, 0.2)
    name, _, query = path.partition("?")
    assert desk.request("POST", f"{name}/stop?{query}").status_code == 202
    found = desk.await_end(path)
    assert (found["state"], "interrupted" in found["error"]) == ("failed", True)
    for cluster in (desk.stage.source, desk.stage.target):
        with admin_of(cluster) as admin:
            assert not [topic for topic in admin.topics() if "heliograph-drill" in topic]


@pytest.mark.long
def test_a_drill_is_passed_beside_a_running_mirror(desk: Desk) -> None:
    found = desk.await_end(desk.begin("drill", options={"drill_seconds": 5, "drill_groups": 3}), 240)
    assert (found["state"], found["error"]) == ("done", "")
    assert found["details"]["drill"]["verdict"] == "pass"
    assert desk.look("")["operations"][0]["operation"] == "drill"
