"""Our client says of what MirrorMaker 2 wrote exactly what Java's own client says, and consumers can move by it."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import kafka
import pytest
from kafka import KafkaConsumer
from py4j.java_gateway import JavaGateway

from heliograph.client import MirrorClient, TopicPartition, remote_cluster_utils
from tests.embedded.traffic import messages
from tests.oracle.java_client import java_map, java_offsets, java_offsets_by_group
from tests.oracle.mirrored import GROUP, METADATA, RECORDS, TOPIC, Mirrored

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

TARGET = TopicPartition(f"north.{TOPIC}", 0)
_PAGE = Path(__file__).parents[2] / "docs" / "client.md"


def settings_of(mirrored: Mirrored) -> dict[str, str]:
    return {"bootstrap.servers": mirrored.south.bootstrap_servers}


@pytest.fixture
def java_client(mirrored: Mirrored, java: JavaGateway) -> Any:
    return java.jvm.org.apache.kafka.connect.mirror.MirrorClient(java_map(java, settings_of(mirrored)))


def test_topics_and_clusters_are_those_that_java_finds(mirrored: Mirrored, java_client: Any) -> None:
    with MirrorClient(settings_of(mirrored)) as client:
        assert client.heartbeat_topics() == set(java_client.heartbeatTopics()) == {"heartbeats", "north.heartbeats"}
        assert client.checkpoint_topics() == set(java_client.checkpointTopics()) == {"north.checkpoints.internal"}
        assert client.remote_topics() == set(java_client.remoteTopics())
        assert client.remote_topics("north") == set(java_client.remoteTopics("north"))
        assert client.upstream_clusters() == set(java_client.upstreamClusters()) == {"north"}
        assert client.replication_hops("north") == java_client.replicationHops("north") == 1
        assert (client.replication_hops("west"), java_client.replicationHops("west")) == (None, -1)
    java_client.close()


def test_offsets_are_those_that_java_translates(mirrored: Mirrored, java: JavaGateway) -> None:
    settings = settings_of(mirrored)
    ours = remote_cluster_utils.translate_offsets(settings, "north", GROUP)
    assert [(where, translated.metadata) for where, translated in ours.items()] == [(TARGET, METADATA)]
    assert ours == java_offsets(java, settings, "north", GROUP)


def test_offsets_by_pattern_are_those_that_java_translates(mirrored: Mirrored, java: JavaGateway) -> None:
    settings = settings_of(mirrored)
    for pattern, groups in (("b.*", {GROUP}), ("b", set())):
        ours = remote_cluster_utils.translate_offsets(settings, "north", re.compile(pattern))
        assert set(ours) == groups
        assert ours == java_offsets_by_group(java, settings, "north", pattern)


def test_the_consumer_of_the_page_goes_on_where_the_group_was_and_never_back(
    mirrored: Mirrored, tmp_path: Path
) -> None:
    translated = remote_cluster_utils.translate_offsets(settings_of(mirrored), "north", GROUP)
    expected = [
        f"{TARGET.topic} {TARGET.partition} {offset} {messages(RECORDS)[offset].value!r}"
        for offset in range(translated[TARGET].offset, RECORDS)
    ]
    assert run_program(mirrored, tmp_path, idle_ms=6000) == expected
    assert committed(mirrored) == RECORDS
    assert run_program(mirrored, tmp_path, idle_ms=500) == []
    assert committed(mirrored) == RECORDS


def run_program(mirrored: Mirrored, folder: Path, idle_ms: int) -> list[str]:
    """Run the program of the page, which ends after so long without a record."""
    found = re.search(r"```python\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert found is not None
    program = folder / "failover.py"
    program.write_text(found[1].replace("10_000", str(idle_ms)))
    command = [sys.executable, str(program), mirrored.south.bootstrap_servers, "north", GROUP]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def committed(mirrored: Mirrored) -> int | None:
    """How far the group has come on the target."""
    consumer = KafkaConsumer(bootstrap_servers=mirrored.south.bootstrap_servers, group_id=GROUP)
    with closing(consumer):
        return consumer.committed(kafka.TopicPartition(*TARGET))
