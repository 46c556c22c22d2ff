from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.task import LaneTask
from heliograph.errors import StaleLane, TakenOver
from heliograph.kafka import writing
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.ledger import entries
from heliograph.ledger.entries import operation_owner
from heliograph.model import LedgerEntry, TopicPartition
from tests.chaos.stage import admin_of
from tests.checker.stock_reader import read_committed
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.forgotten import write

pytestmark = pytest.mark.kafka


@pytest.fixture
def scene(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Scene:
    """A flow that has two partitions to mirror."""
    text = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=2\n"
    scene = make_scene(tmp_path, primary, backup, text)
    scene.source_topic("flowing", 20, 20)
    return scene


def latest_scene(primary: EmbeddedCluster, backup: EmbeddedCluster, folder: Path) -> Scene:
    """A flow of up to three lanes that begins with new records only."""
    text = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=3\n"
    return make_scene(folder, primary, backup, text + "consumer.auto.offset.reset=latest\n")


def driver_of(scene: Scene) -> FlowDriver:
    return FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))


def add(scene: Scene, *sizes: int) -> None:
    """So many more records for each partition of the topic that is mirrored."""
    for number, size in enumerate(sizes):
        scene.send(f"{scene.alias}-flowing", number, size)


def lane_of(task: bytes, should_end: Callable[[], bool], on_trouble: Callable[[str], None] = lambda _: None) -> Lane:
    """The lane that a Spark task would run."""
    plan = LaneTask.unpacked(task)
    return Lane(plan.plan, plan.source, plan.target, plan.settings, should_end, on_trouble)


def task_of(tasks: Sequence[bytes], topic: str, number: int) -> bytes:
    """The task of the lane that copies this partition alone."""
    wanted = [TopicPartition(topic, number)]
    [task] = [task for task in tasks if [x.source for x in LaneTask.unpacked(task).plan.assignments] == wanted]
    return task


def run(task: bytes) -> list[LedgerEntry]:
    """Let a lane do its work, up to its first commit."""
    found: list[LedgerEntry] = []
    for entry in lane_of(task, lambda: bool(found)).run():
        found.append(entry)
    return found


def test_a_task_knows_only_the_producer_ids_that_its_lane_may_go_on_under(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    for number in range(1_000):
        driver.totals.add(LedgerEntry(driver.name, number % 2, driver.owner, 100 + number, 0))
    for producer_id in (1_094, 1_096):  # their turn again
        driver.totals.add(LedgerEntry(driver.name, 0, driver.owner, producer_id, 0))
    announced = [LaneTask.unpacked(task).plan.announced for task in driver.lane_tasks(1)]
    assert announced == [{1_094, 1_096, 1_098}, {1_095, 1_097, 1_099}]


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


def test_a_lane_of_an_earlier_deal_ends(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    stale = driver.lane_tasks(1)
    newest = driver.lane_tasks(2)
    for task in stale:
        with pytest.raises(StaleLane):
            run(task)
    assert sum(entry.record_count for task in newest for entry in run(task)) == 40


def test_a_lane_that_comes_too_late_does_not_lock_out_who_has_followed_it(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    [stale, *_] = driver.lane_tasks(1)
    driver.lane_done(1)
    ends: list[bool] = []
    troubles: list[str] = []
    at_work = [lane_of(task, lambda: bool(ends), troubles.append).run() for task in driver.lane_tasks(2)]
    assert sum(next(lane).record_count for lane in at_work) == 40
    with pytest.raises(StaleLane):
        run(stale)
    add(scene, 5, 5)
    assert sum(next(lane).record_count for lane in at_work) == 10
    ends.append(True)
    for lane in at_work:
        assert not list(lane)
    assert not troubles


def test_a_frozen_lane_that_wakes_up_after_its_partitions_were_dealt_to_another_repeats_nothing(scene: Scene) -> None:
    """As on a cluster whose executor was cut off for a while: it still has its plan and its transactional ids."""
    driver = driver_of(scene)
    driver.take_over()
    tasks = driver.lane_tasks(1)
    assert len(tasks) == 2
    frozen = [lane_of(task, lambda: False).run() for task in tasks]
    for lane in frozen:
        driver.lane_began(1)
        assert next(lane).record_count == 20
    driver.limit_lanes(1)
    [only] = driver.lane_tasks(2)
    add(scene, 5, 5)
    assert sum(entry.record_count for entry in run(only)) == 10
    for lane in frozen:
        with pytest.raises(StaleLane):
            next(lane)
    copied = [TopicPartition(f"{scene.alias}.{scene.alias}-flowing", number) for number in range(2)]
    assert [len(list(read_committed(scene.target, where))) for where in copied] == [25, 25]


@pytest.mark.parametrize("has_strays", [False, True], ids=["sweep", "strays"])
def test_a_driver_that_was_overtaken_while_it_slept_ends_nothing_of_the_other(scene: Scene, has_strays: bool) -> None:
    sleeper, other = driver_of(scene), driver_of(scene)
    sleeper.take_over()
    sleeper.lane_tasks(1)
    if has_strays:
        sleeper.lane_began(1)
    other.take_over()
    copy = TopicPartition(f"{scene.alias}.{scene.alias}-flowing", 0)
    state = TopicPartition(other.settings.topics.state, 0)
    with raw.network(scene.target, copy.topic, state.topic) as connected:
        producer = TransactionalProducer(connected[1], f"heliograph-{other.name}-0a", 60_000)
        record = entries.producer_record(other.name, other.owner, producer.stamp.producer_id, 0)
        writing.append(*connected, state, [record])
        write(connected, producer, copy)
        with pytest.raises(TakenOver):
            sleeper.lane_tasks(2)
        producer.end(commit=True)
    assert sleeper.was_taken_over
    assert len(list(read_committed(scene.target, copy))) == 3


def test_a_flow_that_is_stopped_as_it_is_dealt_runs_no_further_epoch(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops it ends the epoch before, for no other is known yet."""
    driver = driver_of(scene)
    driver.take_over()
    looks: list[bool] = []

    class StoppedAfterALook(threading.Event):
        def is_set(self) -> bool:
            looks.append(super().is_set())
            driver.stop()
            return looks[-1]

    active = StoppedAfterALook()
    active.set()
    monkeypatch.setattr(driver, "_active", active)
    assert driver.lane_tasks(1) == ()
    assert looks[0]


def test_lanes_that_end_well_are_not_fenced(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    driver = driver_of(scene)
    driver.take_over()
    for task in driver.lane_tasks(1):
        driver.lane_began(1)
        run(task)
        driver.lane_done(1)
    driver.lane_tasks(2)
    assert "fenced" not in caplog.text
    driver.lane_began(2)
    driver.lane_tasks(3)
    assert "fenced" in caplog.text


def test_a_lane_of_a_flow_that_was_shut_ends(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    tasks = driver.lane_tasks(1)
    driver_of(scene).shut_out(operation_owner("test"))
    for task in tasks:
        with pytest.raises(TakenOver):
            run(task)


def test_a_partition_that_is_added_later_begins_at_its_first_record_whoever_mirrors_the_others(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    """With `auto.offset.reset = latest`, also where no other partition of the topic is in the same lane."""
    scene = latest_scene(primary, backup, tmp_path)
    scene.source_topic("flowing", 20, 20)
    driver = driver_of(scene)
    driver.take_over()
    assert sum(entry.record_count for task in driver.lane_tasks(1) for entry in run(task)) == 0
    with admin_of(primary) as admin:
        admin.add_partitions({f"{scene.alias}-flowing": 3})
    wait_until(lambda: driver.refresh() or len(driver.assignments) == 3, "the new partition")
    scene.send(f"{scene.alias}-flowing", 2, 7)
    tasks = driver.lane_tasks(2)
    assert len(tasks) == 3
    alone = task_of(tasks, f"{scene.alias}-flowing", 2)
    copied: list[int] = []
    deadline = time.monotonic() + 20
    for entry in lane_of(alone, lambda: sum(copied) == 7 or time.monotonic() > deadline).run():
        copied.append(entry.record_count)
    assert sum(copied) == 7


def test_quiet_partitions_begin_at_the_end_where_mirror_maker_2_has_stored_no_position_for_them(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    """With `auto.offset.reset = latest` it writes down no position before the first record that it copies."""
    scene = latest_scene(primary, backup, tmp_path)
    topic = scene.source_topic("flowing", 20, 20, 20)
    scene.create_offsets()
    scene.done(topic, {2: 19})
    driver = driver_of(scene)
    driver.take_over()
    quiet = [task for task in driver.lane_tasks(1) if not LaneTask.unpacked(task).plan.positions]
    assert sum(entry.record_count for task in quiet for entry in run(task)) == 0
    add(scene, 3, 2, 1)
    assert sum(entry.record_count for task in driver.lane_tasks(2) for entry in run(task)) == 6


def test_a_partition_that_begins_late_begins_at_the_end_as_those_of_its_topic_that_could_begin_at_once(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    """As one that has no leader in the first epoch: by the second one other partitions have positions, and it none."""
    scene = latest_scene(primary, backup, tmp_path)
    topic = scene.source_topic("flowing", 20, 20)
    driver = driver_of(scene)
    driver.take_over()
    assert sum(entry.record_count for entry in run(task_of(driver.lane_tasks(1), topic, 0))) == 0
    assert sum(entry.record_count for entry in run(task_of(driver.lane_tasks(2), topic, 1))) == 0


def test_lanes_are_as_many_as_fit(scene: Scene) -> None:
    driver = driver_of(scene)
    driver.take_over()
    assert not driver.limit_lanes(1), "nothing runs yet, so nothing needs to be dealt anew"
    assert len(driver.lane_tasks(1)) == 1
    assert driver.limit_lanes(7), "more fit now than run"
    assert len(driver.lane_tasks(2)) == 2, "but no more than tasks.max"
    assert not driver.limit_lanes(3)
    assert driver.limit_lanes(1)
