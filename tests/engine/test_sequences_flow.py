"""Flows that write without transactions, as their driver deals them: hand-over, closing, and what prevents it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.task import LaneTask
from heliograph.errors import TakenOver
from heliograph.kafka import reading
from heliograph.ledger.entries import operation_owner
from heliograph.model import LedgerEntry, TopicPartition
from tests.checker.stock_reader import read_committed
from tests.engine.frozen import Frozen, frozen_lane
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.transactions import write_transactions

pytestmark = pytest.mark.kafka

_TEXT = (
    "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=2\n"
    "exactly.once.commit=sequences\n"
)


@pytest.fixture
def scene(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Scene:
    """A flow that has two partitions to mirror."""
    scene = make_scene(tmp_path, primary, backup, _TEXT)
    scene.source_topic("flowing", 20, 20)
    return scene


def driver_of(scene: Scene) -> FlowDriver:
    return FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))


def lane_of(task: bytes, should_end: Callable[[], bool], seconds: float = 0.2) -> Iterator[LedgerEntry]:
    """What the lane of a task does, which flushes every so many seconds."""
    plan = LaneTask.unpacked(task)
    settings = replace(plan.settings, commit_interval=seconds)
    return Lane(plan.plan, plan.source, plan.target, settings, should_end).run()


def copy(task: bytes, records: int) -> None:
    """Let a lane copy so many records, and end well."""
    copied: list[int] = []
    for entry in lane_of(task, lambda: sum(copied) >= records):
        copied.append(entry.record_count)


def ends(scene: Scene) -> list[int]:
    """How many records the target's partitions have taken, markers included."""
    topic = f"{scene.alias}.{scene.alias}-flowing"
    with raw.network(scene.target, topic) as (_, network):
        found = reading.list_offsets(network, topic, {0: reading.LATEST, 1: reading.LATEST})
    return [found[0], found[1]]


def counts(scene: Scene) -> list[int]:
    where = [TopicPartition(f"{scene.alias}.{scene.alias}-flowing", number) for number in range(2)]
    return [len(list(read_committed(scene.target, one))) for one in where]


def add(scene: Scene, *sizes: int) -> None:
    for number, size in enumerate(sizes):
        scene.send(f"{scene.alias}-flowing", number, size)


def reach(scene: Scene, records: int) -> bool:
    """Whether the target has so many records, beside the marker that each partition has from its first lane."""
    return sum(ends(scene)) >= records + 2


@contextmanager
def frozen_task(scene: Scene, task: bytes, records: int) -> Iterator[Frozen]:
    """A lane that has written so many records and flushed none of them."""
    with frozen_lane(lambda is_over: lane_of(task, is_over, seconds=60), lambda: reach(scene, records)) as lane:
        yield lane


def test_a_flow_copies_by_sequences_only_if_it_is_told_to(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    tasks = [LaneTask.unpacked(task) for task in driver.lane_tasks(1)]
    assert all(task.settings.commits_by_sequences for task in tasks)
    assert [task.plan.name for task in tasks] == [f"heliograph-{scene.alias}->there-{lane}" for lane in range(2)]
    assert driver.why_transactions == ""


def test_partitions_are_dealt_to_other_lanes_and_back(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    for deal, lanes in enumerate((2, 1, 2), 1):
        driver.limit_lanes(lanes)
        tasks = driver.lane_tasks(deal)
        assert len(tasks) == lanes
        for task in tasks:
            driver.lane_began(deal)
            copy(task, 40 // lanes if deal == 1 else 20 // lanes)
            driver.lane_done(deal)
        add(scene, 10, 10)
    assert counts(scene) == [40, 40]


def test_a_frozen_lane_whose_partitions_were_dealt_to_another_writes_nothing_when_it_wakes_up(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    driver.limit_lanes(1)
    [task] = driver.lane_tasks(1)
    driver.lane_began(1)
    with frozen_task(scene, task, 40) as frozen:
        driver.limit_lanes(2)
        tasks = driver.lane_tasks(2)
        add(scene, 10, 10)
        for one in tasks:
            copy(one, 10)
        assert counts(scene) == [30, 30]
        frozen.go_on()
        add(scene, 5, 5)
        frozen.finish()
    assert counts(scene) == [30, 30]
    for one in driver.lane_tasks(3):
        copy(one, 5)
    assert counts(scene) == [35, 35]


def test_nothing_is_written_after_a_flow_was_closed_also_by_a_lane_that_was_frozen(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    driver.limit_lanes(1)
    [task] = driver.lane_tasks(1)
    with frozen_task(scene, task, 40) as frozen:
        driver_of(scene).shut_out(operation_owner("test"))
        before = ends(scene)
        add(scene, 10, 10)
        frozen.go_on()
        wait_until(lambda: frozen.failure is not None, "the lane to find that the flow is closed")
    assert isinstance(frozen.failure, TakenOver)
    assert ends(scene) == before
    assert counts(scene) == [20, 20]


def test_a_new_owner_goes_on_behind_the_tail_of_the_last_one(scene: Scene) -> None:
    write_transactions(scene.source, TopicPartition(f"{scene.alias}-flowing", 0), count=5, size=5)
    driver = driver_of(scene)
    driver.take_over()
    driver.limit_lanes(1)
    [task] = driver.lane_tasks(1)
    with frozen_task(scene, task, 45) as frozen:
        written = counts(scene)
        successor = driver_of(scene)
        successor.take_over()
        add(scene, 1, 1)
        for one in successor.lane_tasks(1):
            copy(one, 1)
        assert counts(scene) == [written[0] + 1, written[1] + 1]
        frozen.go_on()
        wait_until(lambda: frozen.failure is not None, "the lane to find that it was replaced")
    assert isinstance(frozen.failure, TakenOver)
    assert counts(scene) == [written[0] + 1, written[1] + 1]


def test_a_flow_with_transforms_keeps_transactions_and_says_why(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kind = "org.apache.kafka.connect.transforms.InsertHeader"
    stage = f"transforms=tell\ntransforms.tell.type={kind}\ntransforms.tell.header=h\ntransforms.tell.value.literal=v\n"
    scene = make_scene(tmp_path, primary, backup, _TEXT + stage)
    scene.source_topic("flowing", 20)
    driver = driver_of(scene)
    with caplog.at_level(logging.WARNING):
        driver.take_over()
    assert "transforms" in driver.why_transactions
    assert driver.why_transactions in caplog.text
    assert not any(LaneTask.unpacked(task).settings.commits_by_sequences for task in driver.lane_tasks(1))
