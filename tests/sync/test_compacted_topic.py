"""A topic of the mirror's own: it is there when it is needed, or it is said why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from heliograph.config.flow import FlowConfig
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused, ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.sync.compacted_topic import CompactedTopic
from tests.sync.conftest import FlowMaker
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

MANY = [Heartbeat("a", f"b{number}", number) for number in range(2500)]


@pytest.fixture
def flow(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], make_flow: FlowMaker) -> FlowConfig:
    return make_flow(target=cluster_pair[1].bootstrap_servers)


@pytest.fixture
def name() -> str:
    return fresh_name("compacted")


@pytest.fixture
def topic(flow: FlowConfig, name: str) -> Iterator[CompactedTopic]:
    with CompactedTopic(flow, flow.target, name, "heartbeats.topic.replication.factor") as made:
        yield made


def values(topic: CompactedTopic) -> list[Heartbeat]:
    return [Heartbeat.decode(record.key, record.value) for record in topic.read()]


def test_what_was_written_is_read_in_its_order_however_much_it_is(topic: CompactedTopic) -> None:
    assert values(topic) == []
    topic.append(MANY)
    topic.append(MANY[:1])
    assert values(topic) == [*MANY, MANY[0]]


def test_a_topic_that_was_deleted_is_created_again(flow: FlowConfig, name: str, topic: CompactedTopic) -> None:
    topic.append(MANY[:2])
    with closing(KafkaAdminClient(bootstrap_servers=list(flow.target.bootstrap_servers))) as admin:
        admin.delete_topics([name])
    with Admin(access_for(flow.target, "admin")) as admin:
        wait_until(lambda: name not in admin.topics(), "the topic to be gone")
    with pytest.raises(BrokerRefused):
        topic.append(MANY[2:3])
    topic.append(MANY[2:3])
    assert values(topic) == MANY[2:3]


def test_where_it_cannot_be_created_the_reason_is_told_each_time(flow: FlowConfig) -> None:
    with CompactedTopic(flow, flow.target, "no/legal name", "heartbeats.topic.replication.factor") as topic:
        for _ in range(2):
            with pytest.raises(ClusterError, match=r"no/legal name on b is missing, and to create it was refused"):
                topic.append(MANY[:1])


def test_where_others_create_it_we_do_not(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], make_flow: FlowMaker, name: str
) -> None:
    servers = cluster_pair[1].bootstrap_servers
    flow = make_flow("internal.topics.automatic.creation.enable=false\n", target=servers)
    with CompactedTopic(flow, flow.target, name, "heartbeats.topic.replication.factor") as topic:
        with pytest.raises(BrokerRefused):
            topic.append(MANY[:1])
        with Admin(access_for(flow.target, "admin")) as admin:
            assert name not in admin.topics()
