"""A transaction whose end a partition never heard of is ended before anybody writes there again, whoever that is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.control.producer_pages import ProducerPages
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.flow import FlowDriver
from heliograph.engine.lane import Lane
from heliograph.engine.task import LaneTask
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import Leader, Network
from heliograph.kafka.producing import Batch
from heliograph.kafka.reading import LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.kafka.trimming import trim
from heliograph.ledger import writers
from heliograph.model import EventKind, LedgerEntry, Position, TopicPartition
from tests.checker.stock_reader import read_committed
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.forgotten import TRUSTING, open_partitions, write
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka
TEXT = "offset.storage.replication.factor=1\nledger.topic.replication.factor=1\ntasks.max=2\n"


@pytest.fixture(scope="module")
def trusting() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("trusting", settings=TRUSTING)) as [cluster]:
        yield cluster


@pytest.fixture
def scene(request: pytest.FixtureRequest, primary: EmbeddedCluster, trusting: EmbeddedCluster, tmp_path: Path) -> Scene:
    """A flow that has two partitions to mirror."""
    scene = make_scene(tmp_path, primary, trusting, TEXT + getattr(request, "param", ""))
    scene.source_topic("flowing", 20, 20)
    return scene


@pytest.fixture
def driver(scene: Scene) -> FlowDriver:
    """It has copied what there was, with two lanes."""
    driver = FlowDriver(flow_settings(scene.flow), ClusterTopics(scene.flow))
    driver.take_over()
    assert sum(run(task).record_count for task in driver.lane_tasks(1)) == 40
    return driver


def run(task: bytes) -> LedgerEntry:
    """Let a lane do its work, up to its first commit; what it did."""
    found: list[LedgerEntry] = []
    plan = LaneTask.unpacked(task)
    for entry in Lane(plan.plan, plan.source, plan.target, plan.settings, lambda: bool(found)).run():
        found.append(entry)
    return found[0]


def pair_of(driver: FlowDriver) -> tuple[TopicPartition, TopicPartition, list[str]]:
    """A partition, its copy, and the transactional ids of the lane that does not copy it."""
    item = driver.lanes[0][0]
    return item.source, item.target, [f"heliograph-{driver.name}-1{turn}" for turn in "abc"]


def place(
    connected: raw.Connected, producer: TransactionalProducer, scene: Scene, source: TopicPartition, position: Position
) -> None:
    """Write a position in the producer's transaction."""
    topic = f"mm2-offsets.{scene.alias}.internal"
    connected[1].refresh([topic])
    key = positions.encode_key(scene.alias, source)
    where = TopicPartition(topic, positions.partition_for(key, len(connected[1].partitions(topic))))
    record = Record(0, int(time.time() * 1000), key, positions.encode_value(position))
    batch = raw.batch_of([record], stamp=producer.stamp, sequence=producer.sequences.take(where, 1))
    [answer] = raw.send(*connected, [Batch(*where, batch)], producer)
    assert answer.error_code == 0
    producer.joined.add(where)
    producer.end(commit=True)


@pytest.mark.parametrize("commit", [True, False])
def test_it_is_ended_when_the_partition_is_dealt_to_another_lane(
    scene: Scene, driver: FlowDriver, commit: bool
) -> None:
    source, copy, [name, *_] = pair_of(driver)
    scene.send(source.topic, source.partition, 3)
    with raw.network(scene.target, copy.topic) as connected:
        producer = TransactionalProducer(connected[1], name, 60_000)
        first = write(connected, producer, copy, joins=False)
        if commit:
            place(connected, producer, scene, source, Position(22, first + 2))
        assert open_partitions(connected, [copy]) == [copy]
        tasks = driver.lane_tasks(2)
        assert open_partitions(connected, [copy]) == []
    for number in range(2):
        scene.send(source.topic, number, 5)
    assert sum(run(task).record_count for task in tasks) == (10 if commit else 13)
    assert len(list(read_committed(scene.target, copy))) == 28


def test_a_lane_does_not_write_behind_what_only_the_driver_can_end(scene: Scene, driver: FlowDriver) -> None:
    """As where the partition could not be asked when it was dealt."""
    source, copy, [name, *_] = pair_of(driver)
    [task, _] = driver.lane_tasks(2)
    scene.send(source.topic, source.partition, 5)
    with raw.network(scene.target, copy.topic) as connected:
        write(connected, TransactionalProducer(connected[1], name, 60_000), copy, joins=False)
        told = run(task)
        assert [(event.kind, event.source) for event in told.events] == [(EventKind.SET_ASIDE, source)]
        assert "of an earlier lane" in told.events[0].reason
        again = driver.lane_tasks(3)
        assert open_partitions(connected, [copy]) == []
    assert run(again[0]).record_count == 5
    assert len(list(read_committed(scene.target, copy))) == 25


TAGGED = "transforms=tag\ntransforms.tag.type=org.apache.kafka.connect.transforms.InsertHeader\n"
TAGGED += "transforms.tag.header=via\ntransforms.tag.value.literal=us\n"


@pytest.mark.parametrize("scene", [TAGGED], indirect=True)
def test_it_is_ended_also_where_records_were_routed_to(scene: Scene, driver: FlowDriver) -> None:
    routed = TopicPartition(create_topic(scene.target, fresh_name("routed")), 0)
    _, _, [name, *_] = pair_of(driver)
    with raw.network(scene.target, routed.topic) as connected:
        write(connected, TransactionalProducer(connected[1], name, 60_000), routed, joins=False)
        driver._look_elsewhere_at = 0.0  # as a minute later
        driver.lane_tasks(2)
        assert open_partitions(connected, [routed]) == []


@pytest.mark.parametrize("scene", [TAGGED], indirect=True)
def test_a_lane_whose_target_others_route_records_to_does_not_wait_for_them(scene: Scene, driver: FlowDriver) -> None:
    source, copy, [name, *_] = pair_of(driver)
    [task, _] = driver.lane_tasks(2)
    scene.send(source.topic, source.partition, 5)
    with raw.network(scene.target, copy.topic) as connected:
        other = TransactionalProducer(connected[1], name, 60_000)
        write(connected, other, copy)
        told = run(task)
        other.end(commit=False)
    assert (told.record_count, told.events) == (5, ())


def compact(driver: FlowDriver, servers: str) -> None:
    """Leave of the flow's state what compaction leaves, for whoever has not read it before."""
    state = TopicPartition(driver.settings.topics.state, 0)
    with Admin(Access("there", servers.split(","))) as admin:
        admin.alter_topic_settings({state.topic: {"cleanup.policy": "compact,delete"}})
    with raw.network(servers, state.topic) as (loop, network):
        found = reading.read_to_end(loop, network, state.topic, {0: 0})
        kept = {record.key: record for _, record in found}
        trim(network, state, reading.list_offsets(network, state.topic, {0: LATEST})[0])
        left = [record for record in kept.values() if record.value]
        driver._bookkeeping.state_read_to = writing.append(loop, network, state, left)


def test_it_is_ended_also_after_the_id_of_its_lane_was_packed(
    scene: Scene, driver: FlowDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, copy, [name, *_] = pair_of(driver)
    assert "packed" in ProducerPages(driver, 1).pack()
    compact(driver, scene.target)
    monkeypatch.setattr(writers, "_known", {})  # as in a process that has just begun
    with raw.network(scene.target, copy.topic) as connected:
        write(connected, TransactionalProducer(connected[1], name, 60_000), copy, joins=False)
        driver.lane_tasks(2)
        assert open_partitions(connected, [copy]) == []


@pytest.mark.parametrize("is_gone", [False, True], ids=["filtered-out", "deleted"])
def test_it_is_ended_also_where_nothing_is_copied_any_more(scene: Scene, driver: FlowDriver, is_gone: bool) -> None:
    """Consumers of the copy would wait there for ever."""
    source, copy, [name, *_] = pair_of(driver)
    other = scene.source_topic("other", 5)
    wait_until(driver.refresh, "the other topic")
    driver.lane_tasks(2)
    with raw.network(scene.target, copy.topic) as connected:
        write(connected, TransactionalProducer(connected[1], name, 60_000), copy, joins=False)
        driver._assignments = [item for item in driver.assignments if item.source.topic == other]
        if is_gone:
            with Admin(Access("there", scene.target.split(","))) as admin:
                admin.delete_topics([copy.topic])
            wait_until(lambda: bool(connected[1].look_up([copy.topic])), "the copy to be gone")
        [task] = driver.lane_tasks(3)
        assert is_gone or open_partitions(connected, [copy]) == []
    assert run(task).record_count == 5
    assert driver.lane_tasks(4)
    assert (driver._unswept, driver._former) == ({}, [])
    assert source not in {item.source for items in driver.lanes for item in items}


def test_where_nothing_is_copied_any_more_it_is_tried_until_it_is_ended(
    scene: Scene, driver: FlowDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the partition cannot be asked at first."""
    _, copy, [name, *_] = pair_of(driver)
    other = scene.source_topic("other", 5)
    wait_until(driver.refresh, "the other topic")
    driver.lane_tasks(2)
    with raw.network(scene.target, copy.topic) as connected:
        write(connected, TransactionalProducer(connected[1], name, 60_000), copy, joins=False)
        driver._assignments = [item for item in driver.assignments if item.source.topic == other]
        with monkeypatch.context() as patched:
            patched.setattr(Network, "leader", without_leader(copy))
            driver.lane_tasks(3)
        assert driver._unswept == {copy: "has no leader"}
        assert open_partitions(connected, [copy]) == [copy]
        driver.lane_tasks(4)
        assert open_partitions(connected, [copy]) == []
    assert driver._unswept == {}


def without_leader(where: TopicPartition) -> Callable[[Network, str, int], Leader]:
    """`Network.leader`, as if nobody led this partition."""
    leader = Network.leader

    def told(network: Network, topic: str, partition: int) -> Leader:
        if (topic, partition) == where:
            raise BrokerUnavailable("nobody leads it")
        return leader(network, topic, partition)

    return told
