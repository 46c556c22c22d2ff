"""Clusters of three brokers: leaders move and brokers die on both sides, and the mirror follows without help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from tests.chaos.forms import short_and_long
from tests.chaos.outages import SOON_MISSED
from tests.chaos.stage import PARTITIONS, PATIENCE_SECONDS, Stage
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_OPTIONS = {
    "offset.storage.partitions": "2",
    "replication.factor": "3",
    "offset.storage.replication.factor": "3",
    "ledger.topic.replication.factor": "3",
}
_LEADERS_MOVE_SOON = {
    **SOON_MISSED,
    "leader.imbalance.check.interval.seconds": "1",
    "leader.imbalance.per.broker.percentage": "0",
}

_AT_ONCE = [["source", "target"]]
_IN_TURN = [["source"], ["target"], ["source", "target"]] * 3


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Three brokers each, and a controller apart, so that any broker can be killed."""
    specs = [
        ClusterSpec(alias, brokers=3, separate_controller=True, heap="256m", settings=_LEADERS_MOVE_SOON)
        for alias in ("primary", "backup")
    ]
    with running_clusters(*specs) as (primary, backup):
        yield primary, backup


@short_and_long("rounds", _AT_ONCE, _IN_TURN)
def test_brokers_die_and_leaders_move_away_and_back(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, rounds: Sequence[Sequence[str]]
) -> None:
    stage = Stage(clusters, tmp_path, fresh_name("led"), options=_OPTIONS, replicas=3)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            for sides in rounds:
                _lose_brokers_for_a_while(stage, sides)
        assert load.acknowledged > 500
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def _lose_brokers_for_a_while(stage: Stage, sides: Sequence[str]) -> None:
    both = {"source": (stage.source, stage.topic), "target": (stage.target, stage.copy)}
    struck = [both[side] for side in sides]
    before = [_leaders(cluster, topic) for cluster, topic in struck]
    assert all(set(leaders.values()) == {1, 2, 3} for leaders in before)
    for cluster, _ in struck:
        cluster.brokers[0].process.kill()
    for cluster, topic in struck:
        _await_other_leaders(cluster, topic)
    stage.await_recovery()
    for cluster, _ in struck:
        cluster.brokers[0].start()
    for (cluster, topic), wanted in zip(struck, before, strict=True):
        cluster.wait_until_ready()
        _await_leaders(cluster, topic, wanted)
    stage.await_recovery()


def _await_other_leaders(cluster: EmbeddedCluster, topic: str) -> None:
    """Wait until the partitions of the first broker, which is dead, have gone to others."""
    victim = cluster.brokers[0].spec.node_id
    survivors = ",".join(broker.spec.listeners[0].address for broker in cluster.brokers[1:])

    def have_moved() -> bool:
        return victim not in _leaders(cluster, topic, survivors).values()

    wait_until(have_moved, f"other leaders of {topic}", PATIENCE_SECONDS, 0.2)


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
