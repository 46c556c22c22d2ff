from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.task import LaneTask
from heliograph.errors import TakenOver
from heliograph.kafka.ledger import operation_owner
from heliograph.model import LedgerEntry
from tests.monitor.scene import Scene, make_scene

pytestmark = pytest.mark.kafka


@pytest.fixture
def scene(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Scene:
    """A flow that has two partitions to mirror."""
    text = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=2\n"
    scene = make_scene(tmp_path, primary, backup, text)
    scene.source_topic("flowing", 20, 20)
    return scene


def driver_of(scene: Scene) -> FlowDriver:
    return FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))


def run(task: bytes) -> list[LedgerEntry]:
    """Let a lane do its work, up to its first commit."""
    found: list[LedgerEntry] = []
    plan = LaneTask.unpacked(task)
    lane = Lane(plan.plan, plan.source, plan.target, plan.settings, lambda: bool(found), lambda _: None)
    for entry in lane.run():
        found.append(entry)
    return found


def test_a_lane_copies_for_who_planned_it(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    assert sum(entry.record_count for task in driver.lane_tasks(1) for entry in run(task)) == 40


def test_a_lane_of_an_earlier_take_over_ends_although_the_process_is_the_same(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    stale = driver.lane_tasks(1)
    driver.take_over()
    for task in stale:
        with pytest.raises(TakenOver):
            run(task)
    assert sum(entry.record_count for task in driver.lane_tasks(1) for entry in run(task)) == 40


def test_a_lane_of_a_flow_that_was_shut_ends(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    tasks = driver.lane_tasks(1)
    driver_of(scene).shut_out(operation_owner("test"))
    for task in tasks:
        with pytest.raises(TakenOver):
            run(task)


def test_lanes_are_as_many_as_fit(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    assert not driver.limit_lanes(1), "nothing runs yet, so nothing needs to be dealt anew"
    assert len(driver.lane_tasks(1)) == 1
    assert driver.limit_lanes(7), "more fit now than run"
    assert len(driver.lane_tasks(2)) == 2, "but no more than tasks.max"
    assert not driver.limit_lanes(3)
    assert driver.limit_lanes(1)
