"""Two clusters mirror the same topic names into each other: everything arrives once on both sides, nothing circles."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.checker.stock_reader import read_committed
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PARTITIONS = 3
TOPIC = "both-ways"


def _records(cluster: EmbeddedCluster, partition: int) -> Counter[tuple[bytes | None, bytes | None]]:
    seen = read_committed(cluster.bootstrap_servers, TopicPartition(TOPIC, partition))
    return Counter((item.content.key, item.content.value) for item in seen)


def _are_equal(primary: EmbeddedCluster, backup: EmbeddedCluster) -> bool:
    return all(_records(primary, number) == _records(backup, number) for number in range(PARTITIONS))


def test_same_names_in_both_directions_without_loops(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    primary, backup = cluster_pair
    for cluster in cluster_pair:
        with Admin(Access(cluster.alias, [cluster.bootstrap_servers])) as admin:
            admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
    settings = tmp_path / "mm2.properties"
    settings.write_text(f"""
clusters = primary, backup
primary.bootstrap.servers = {primary.bootstrap_servers}
backup.bootstrap.servers = {backup.bootstrap_servers}
primary->backup.enabled = true
backup->primary.enabled = true
topics = {TOPIC}
replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy
emit.heartbeats.enabled = false
replication.factor = 1
offset.storage.replication.factor = 1
ledger.topic.replication.factor = 1
""")
    mirror = MirrorProcess(settings, tmp_path / "mirror.log")
    try:
        here = Load(primary.bootstrap_servers, TOPIC, PARTITIONS, per_second=200, name="primary")
        there = Load(backup.bootstrap_servers, TOPIC, PARTITIONS, per_second=200, name="backup")
        with here, there:
            wait_until(lambda: here.acknowledged > 2000 and there.acknowledged > 2000, "load on both sides", 60)
        written = here.acknowledged + there.acknowledged
        wait_until(lambda: _are_equal(primary, backup), f"both sides to be equal\n{mirror.log_text()}", 60, 0.5)
        for cluster in cluster_pair:
            counts = sum((_records(cluster, number) for number in range(PARTITIONS)), Counter())
            assert counts.total() == written
            assert max(counts.values()) == 1
        assert mirror.stop() == 0
    finally:
        mirror.kill()
