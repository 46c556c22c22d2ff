from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from heliograph.recovery.failback import TailOptions, failback
from heliograph.recovery.failover import failover
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.producers.fence import FenceWay
from tests.chaos.forms import short_and_long
from tests.chaos.load import Load
from tests.chaos.stage import admin_of
from tests.recovery.move_stage import PARTITIONS, QUICK, RECOVERY_SECONDS, MoveStage, contents
from tests.recovery.steady_reader import SteadyReader
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

STEPS = (
    "check", "close", "tail", "reopen", "mirror", "producers", "drain", "consumers", "groups", "verify", "release",
    "open",
)  # fmt: skip
pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def _write(cluster: EmbeddedCluster, topic: str, at_least: int = 300) -> None:
    with Load(cluster.bootstrap_servers, topic, PARTITIONS, 600, fresh_name("late")) as load:
        wait_until(lambda: load.acknowledged >= at_least, "records")


@pytest.mark.parametrize(
    "stage",
    ["aliases", "same names"],
    ids=["names with aliases, the flow back is not in the file", "same names both ways"],
    indirect=True,
)
def test_there_and_back_again(stage: MoveStage, tmp_path: Path) -> None:
    primary, backup = stage.source, stage.target
    home = stage.topic if stage.keeps_names else f"{stage.b}.{stage.topic}"  # where what is written on B arrives on A
    with stage.load():
        stage.await_growth()
        stage.commit_somewhere()
    stage.await_equal("all records")
    stage.await_seen()
    before = stage.rests(primary, [stage.topic])

    there = failover(stage.config, stage.flow)
    assert there.run().is_done

    assert stage.rests(backup, [stage.copy]) == before
    assert all(row["exact"] for row in there.details()["groups"])
    mirrored = contents(primary, stage.topic)
    reader = SteadyReader(stage.groups[0])
    reader.read_once(backup, stage.copy)  # one goes on at B to the end
    if not stage.keeps_names:
        _create(backup, stage.topic)
    _write(backup, stage.topic)
    if stage.keeps_names:
        reader.read_once(backup, stage.topic)
        reader.values.clear()
    rests = stage.rests(backup, [stage.copy] if stage.keeps_names else [stage.copy, stage.topic])

    back = failback(stage.config, stage.flow, QUICK, TailOptions(tmp_path / "tail.jsonl"))
    report = back.run()

    assert report.is_done
    assert not (tmp_path / "tail.jsonl").exists()
    assert contents(primary, home) == (contents(backup, stage.topic))
    assert stage.rests(primary, [stage.topic] if stage.keeps_names else [stage.topic, home]) == rests
    assert all(row["exact"] for row in back.details()["groups"]), back.details()["groups"]
    assert not FlowGate(stage.flow).is_closed
    assert mirrored <= contents(primary, stage.topic)
    _write(primary, stage.topic)
    stage.await_equal("the flow goes on", RECOVERY_SECONDS)


@pytest.mark.parametrize("stage", ["same names"], indirect=True)
def test_what_was_never_mirrored_is_saved_and_mirrored_when_the_flow_goes_on(stage: MoveStage, tmp_path: Path) -> None:
    primary, backup = stage.source, stage.target
    with stage.load():
        stage.await_growth()
        stage.commit_somewhere()
    stage.await_equal("all records")
    mirrored = contents(primary, stage.topic)
    stage.await_seen()
    failover(stage.config, stage.flow).run()
    _write(primary, stage.topic)  # nobody saw these before A was lost
    lost = contents(primary, stage.topic) - mirrored
    _write(backup, stage.topic)
    new = contents(backup, stage.topic) - mirrored
    reader = SteadyReader(stage.groups[0])
    reader.read_once(backup, stage.topic)

    back = failback(stage.config, stage.flow, replace(QUICK, leaves_consumers=True), TailOptions(tmp_path / "tail"))
    report = back.run()

    assert report.is_done
    saved = [json.loads(line) for line in (tmp_path / "tail").read_text().splitlines()]
    assert Counter(item["value"].encode() for item in saved) == lost
    assert {item["topic"] for item in saved} == {stage.topic}
    assert contents(primary, stage.topic) == mirrored + lost + new
    # The group has read all of B: on A it must not miss what was lost, and may read again what the report said.
    [rest] = [
        sum((Counter(items) for (group, _), items in stage.rests(primary, [stage.topic]).items()
             if group == stage.groups[0]), Counter[bytes]())
    ]  # fmt: skip
    assert lost <= rest <= lost + new
    rows = [row for row in back.details()["groups"] if row["group"] == stage.groups[0]]
    assert sum(row["waiting"] for row in rows if not row["exact"]) >= (rest - lost).total()
    wait_until(lambda: contents(backup, stage.topic) == mirrored + lost + new, "the tail on B", RECOVERY_SECONDS, 0.5)


@pytest.mark.parametrize("stage", ["same names"], indirect=True)
@short_and_long("steps", ("groups",), STEPS)
def test_a_run_that_is_killed_after_a_step_is_finished_by_the_next(
    stage: MoveStage, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    primary, backup = stage.source, stage.target
    with stage.load():
        stage.await_growth()
        stage.commit_somewhere()
    for step in steps:
        stage.await_equal("all records")
        stage.await_seen()
        failover(stage.config, stage.flow).run()
        _write(backup, stage.topic)
        everything = contents(backup, stage.topic)
        rests = _unordered(stage.rests(backup, [stage.copy]))
        stage.run_killed_after(step, "failback", "--quiet", "0.5", "--fence", "topic", "--tail", str(tmp_path / "t"))

        again = failback(stage.config, stage.flow, replace(QUICK, fence=FenceWay.TOPIC), TailOptions(tmp_path / "t"))

        assert again.run().is_done
        assert contents(primary, stage.topic) == contents(backup, stage.topic) == everything
        assert _unordered(stage.rests(primary, [stage.topic])) == rests
        assert not (tmp_path / "t").exists()
        assert not FlowGate(stage.flow).is_closed
        for cluster in (primary, backup):
            _write(cluster, stage.topic, 50)


def _unordered(rests: Mapping[tuple[str, int], list[bytes]]) -> dict[tuple[str, int], Counter[bytes]]:
    """Where both sides are written to, each has its own order."""
    return {key: Counter(rest) for key, rest in rests.items()}


def _create(cluster: EmbeddedCluster, topic: str) -> None:
    with admin_of(cluster) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
