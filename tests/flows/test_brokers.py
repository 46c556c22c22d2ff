"""Clusters of three brokers: leaders move and brokers die on both sides, and the mirror follows without help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from tests.chaos.stage import PARTITIONS, PATIENCE_SECONDS, Stage
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_OPTIONS = {
    "replication.factor": "3",
    "offset.storage.replication.factor": "3",
    "ledger.topic.replication.factor": "3",
}
_LEADERS_MOVE_SOON = {
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "leader.imbalance.check.interval.seconds": "2",
    "leader.imbalance.per.broker.percentage": "0",
}


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Three brokers each, and a controller apart, so that any broker can be killed."""
    specs = [
        ClusterSpec(alias, brokers=3, separate_controller=True, heap="256m", settings=_LEADERS_MOVE_SOON)
        for alias in ("primary", "backup")
    ]
    with running_clusters(*specs) as (primary, backup):
        yield primary, backup


def test_brokers_die_and_leaders_move_away_and_back(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    stage = Stage(clusters, tmp_path, "led", options=_OPTIONS, replicas=3)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            for cluster, topic in ((stage.source, stage.topic), (stage.target, stage.copy)):
                before = _leaders(cluster, topic)
                assert set(before.values()) == {1, 2, 3}
                _lose_a_broker(cluster, topic)
                stage.await_progress()
                _bring_back(cluster)
                _await_leaders(cluster, topic, before)
                stage.await_progress()
        assert load.acknowledged > 500
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def _lose_a_broker(cluster: EmbeddedCluster, topic: str) -> None:
    """Kill the first broker, and see its partitions go to others."""
    victim = cluster.brokers[0]
    victim.process.kill()
    survivors = ",".join(broker.spec.listeners[0].address for broker in cluster.brokers[1:])

    def have_moved() -> bool:
        return victim.spec.node_id not in _leaders(cluster, topic, survivors).values()

    wait_until(have_moved, f"other leaders of {topic}", PATIENCE_SECONDS, 0.2)


def _bring_back(cluster: EmbeddedCluster) -> None:
    cluster.brokers[0].start()
    cluster.wait_until_ready()


def _await_leaders(cluster: EmbeddedCluster, topic: str, wanted: dict[int, int]) -> None:
    wait_until(lambda: _leaders(cluster, topic) == wanted, f"the preferred leaders of {topic}", PATIENCE_SECONDS, 0.2)


def _leaders(cluster: EmbeddedCluster, topic: str, servers: str = "") -> dict[int, int]:
    loop = Loop()
    try:
        network = Network(loop, Access(cluster.alias, (servers or cluster.bootstrap_servers).split(",")))
        network.refresh([topic])
        return {number: network.leader(topic, number).broker_id for number in range(PARTITIONS)}
    finally:
        loop.close()
