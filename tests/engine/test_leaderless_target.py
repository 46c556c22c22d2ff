"""A partition of the target that has no leader keeps nobody else up: neither the take-over of a flow, nor its lanes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.bookkeeping import Bookkeeping
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.access import Access
from heliograph.model import EventKind, TopicPartition
from tests.engine.lane_bench import OFFSETS_PARTITIONS, QUICK, TOPICS
from tests.engine.ward import Ward
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import await_leaders, create_topic, fresh_name

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def halved() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("halved", brokers=2, separate_controller=True)) as [cluster]:
        homes = {name: [1] for name in TOPICS} | {TOPICS.offsets: [1] * OFFSETS_PARTITIONS}
        for name, brokers in homes.items():
            create_on(cluster, name, *brokers)
        yield cluster


def create_on(cluster: EmbeddedCluster, name: str, *brokers: int) -> str:
    """A topic whose partitions are each on one of the brokers."""
    homes = {number: [broker] for number, broker in enumerate(brokers)}
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(name, replica_assignments=homes)])
    await_leaders(cluster.bootstrap_servers, name, len(brokers))
    return name


def has_leader(address: str, where: TopicPartition) -> bool:
    with raw.network(address, where.topic) as (_, network):
        try:
            network.leader(*where)
        except BrokerUnavailable:
            return False
    return True


@pytest.fixture(scope="module")
def wards(primary: EmbeddedCluster, halved: EmbeddedCluster) -> list[Ward]:
    """Mirrors whose first partition has lost its leader on the target."""
    remaining = halved.brokers[0].spec.listeners[0].address
    made = []
    for _ in range(2):
        name = create_topic(primary.bootstrap_servers, fresh_name("leaderless"), partitions=2)
        copy = create_on(halved, f"primary.{name}", 2, 1)
        pairs = {TopicPartition(name, number): TopicPartition(copy, number) for number in range(2)}
        made.append(Ward(Stations(primary.bootstrap_servers, remaining), pairs, f"lane-of-{name}"))
        for source in pairs:
            made[-1].feed(source, range(10))
    halved.brokers[1].stop()
    for ward in made:
        where = ward.pairs[ward.bad]
        wait_until(lambda where=where: not has_leader(remaining, where), "the partition to be without a leader")
    return made


@pytest.mark.parametrize("is_exactly_once", [True, False], ids=["exactly once", "at least once"])
def test_the_flow_is_taken_over_and_other_partitions_flow(wards: list[Ward], is_exactly_once: bool) -> None:
    ward = wards.pop()
    books = Bookkeeping("primary->backup", "primary", Access("backup", [ward.stations.target]), TOPICS)
    assert books.fence([ward.transactional_id], ward.pairs.values()) == {ward.pairs[ward.bad]: "has no leader"}

    with ward.lane_walk(replace(QUICK, is_exactly_once=is_exactly_once)) as walk:
        [aside] = walk.until_told(1)
        walk.until_copied({ward.well: 10})
    assert (aside.kind, aside.source) == (EventKind.SET_ASIDE, ward.bad)
    assert aside.reason == "its target cannot be used: has no leader"
