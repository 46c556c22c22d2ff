"""What must be on record before anything is written: who has a flow, and under which ids its lanes write."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.engine.task import LaneTask
from heliograph.errors import Fenced
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.producing import Batch
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.ledger import entries
from heliograph.ledger.entries import ProducerId
from heliograph.model import LanePlan, LedgerEntry, TopicPartition
from heliograph.sync.topics import flow_topics
from tests.sync.moving import Moving, make_moving, produce
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

LONG_MS = 600_000  # longer than any test: a transaction that ends was ended by somebody


@pytest.fixture
def orders(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]) -> TopicPartition:
    where = TopicPartition(create_topic(cluster_pair[0].bootstrap_servers, fresh_name("contested")), 0)
    produce(cluster_pair[0].bootstrap_servers, where, range(10))
    return where


@pytest.fixture
def moving(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, orders: TopicPartition) -> Moving:
    return make_moving(tmp_path, cluster_pair, orders.topic)


def test_whoever_takes_over_ends_what_lanes_have_open_and_locks_them_out(
    moving: Moving, orders: TopicPartition
) -> None:
    where = TopicPartition(f"{moving.name}.{orders.topic}", 0)
    plan = _taken_over(moving)
    with raw.network(moving.target, where.topic) as (loop, network), _admin(moving) as admin:
        lanes = [TransactionalProducer(network, name, LONG_MS) for name in plan.transactional_ids]
        for lane in lanes:
            lane.join([where])
            data = raw.batch_of([Record(0, 1_700_000_000_000, None, b"never committed")], stamp=lane.stamp, sequence=0)
            [answer] = raw.send(loop, network, [Batch(*where, data)], lane)
            assert answer.error_code == 0
        assert {item.producer_id for item in admin.open_transactions([where])} == {
            lane.stamp.producer_id for lane in lanes
        }
        _taken_over(moving)
        assert admin.open_transactions([where]) == []
        assert admin.stable_offsets([where]) == admin.end_offsets([where])
        for lane in lanes:
            with pytest.raises(Fenced, match="taken over"):
                lane.end(commit=True)


def test_every_id_that_lanes_write_under_was_announced(moving: Moving, orders: TopicPartition) -> None:
    moving.mirror()
    produce(moving.source, orders, range(10, 12))
    moving.mirror(lane="another")
    topics, access = flow_topics(moving.flow), access_for(moving.flow.target, "consumer")
    state = [entries.decode(record.value) for record in reading.read_single(access, topics.state)]
    ledger = [entries.decode(record.value) for record in reading.read_single(access, topics.ledger)]
    announced = {told.number for told in state if isinstance(told, ProducerId)}
    written = {told.producer_id for told in ledger if isinstance(told, LedgerEntry)}
    assert written <= announced
    assert len(written) >= 2
    assert len(announced) == 4  # also those that have written nothing yet


def _taken_over(moving: Moving) -> LanePlan:
    """What the only lane does of a mirror that has just taken the flow over."""
    driver = FlowDriver(flow_settings(moving.flow), ClusterTopics(moving.flow))
    driver.take_over()
    [task] = driver.lane_tasks(1)
    return LaneTask.unpacked(task).plan


def _admin(moving: Moving) -> Admin:
    return Admin(access_for(moving.flow.target, "admin"))
