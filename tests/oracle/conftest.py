"""Two clusters that a real MirrorMaker 2 has mirrored for a while, and a Java program to ask about them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from py4j.java_gateway import GatewayParameters, JavaGateway, find_jar_path, launch_gateway

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.jvm import Jvm
from heliograph.embedded.mirrormaker import MirrorMaker2
from tests.embedded.traffic import messages, send
from tests.oracle.mirrored import COMMITTED, GROUP, METADATA, RECORDS, TOPIC, Mirrored
from tests.waiting import wait_until
from tests.zoo.topics import create_topic


@pytest.fixture(scope="package")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    """MirrorMaker 2 has written heartbeats, checkpoints and offset syncs, and has stopped."""
    with running_clusters(ClusterSpec("north", heap="256m"), ClusterSpec("south", heap="256m")) as (north, south):
        create_topic(north.bootstrap_servers, TOPIC)
        send(north, TOPIC, messages(RECORDS))
        _commit(north, COMMITTED)
        found = Mirrored(north, south)
        with MirrorMaker2(found.settings, tmp_path_factory.mktemp("mirrormaker")):
            wait_until(found.is_complete, "all kinds of records of MirrorMaker 2", 60, interval=0.5)
        yield found


def _commit(cluster: EmbeddedCluster, offset: int) -> None:
    consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, group_id=GROUP, enable_auto_commit=False)
    with closing(consumer):
        where = TopicPartition(TOPIC, 0)
        consumer.assign([where])
        consumer.commit({where: OffsetAndMetadata(offset, METADATA, -1)})


@pytest.fixture(scope="package")
def java() -> Iterator[JavaGateway]:
    """A Java virtual machine with Kafka's own classes."""
    jvm = Jvm.prepare()
    port, process = launch_gateway(
        jarpath=find_jar_path(),
        classpath=f"{jvm.jars}/*",
        java_path=str(jvm.java),
        die_on_exit=True,
        redirect_stdout=subprocess.DEVNULL,
        redirect_stderr=subprocess.DEVNULL,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        yield gateway
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.stdout.close()
        process.wait(30)
