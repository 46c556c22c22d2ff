"""A real MirrorMaker 2 that mirrors the same topic counts the same records."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.java_gateway import JavaGateway

from heliograph.embedded.mirrormaker import MirrorMaker2
from heliograph.embedded.ports import free_ports
from tests.deploy.live_run import ORDERS, PARTITIONS, LiveRun
from tests.oracle.conftest import java  # noqa: F401 - a fixture
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.oracle, pytest.mark.long]

_COUNT = "kafka_connect_mirror_source_connector_record_count"


def _settings(live: LiveRun) -> dict[str, str]:
    factors = ("replication", *(f"{name}.topic.replication" for name in ("heartbeats", "offset-syncs", "checkpoints")))
    stores = (f"{name}.storage.replication" for name in ("offset", "status", "config"))
    return {
        "clusters": "orient, occident",
        "orient.bootstrap.servers": live.source.bootstrap_servers,
        "occident.bootstrap.servers": live.target.bootstrap_servers,
        "orient->occident.enabled": "true",
        "topics": ORDERS,
        "groups": "none",
        "emit.heartbeats.enabled": "false",
        **{f"{name}.factor": "1" for name in (*factors, *stores)},
    }


def _open_door(port: int) -> list[str]:
    """Options that let others on this machine read what a Java program measures."""
    prefix = "-Dcom.sun.management.jmxremote"
    switches = {"port": port, "rmi.port": port, "authenticate": "false", "ssl": "false", "host": "127.0.0.1"}
    return [*(f"{prefix}.{name}={value}" for name, value in switches.items()), "-Djava.rmi.server.hostname=127.0.0.1"]


class Measures:
    """What MirrorMaker 2 tells over JMX."""

    def __init__(self, java: JavaGateway, port: int) -> None:  # noqa: F811
        self._jvm = java.jvm
        url = self._jvm.javax.management.remote.JMXServiceURL(f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi")
        self._door = self._jvm.javax.management.remote.JMXConnectorFactory.connect(url)
        self._server = self._door.getMBeanServerConnection()

    def record_counts(self, topic: str) -> dict[str, float]:
        """The records of each partition of a target topic."""
        pattern = f"kafka.connect.mirror:type=MirrorSourceConnector,topic={topic},*"
        names = self._server.queryNames(self._jvm.javax.management.ObjectName(pattern), None)
        return {
            name.getKeyProperty("partition"): float(self._server.getAttribute(name, "record-count")) for name in names
        }

    def close(self) -> None:
        """Hang up."""
        self._door.close()


def test_both_count_the_same_records(live: LiveRun, java: JavaGateway, tmp_path: Path) -> None:  # noqa: F811
    [port] = free_ports(1)
    with MirrorMaker2(_settings(live), tmp_path, jvm_options=_open_door(port)):
        measures = Measures(java, port)
        try:
            with live.load() as load:
                wait_until(lambda: load.acknowledged >= 600, "some load", 30)
            live.prometheus.await_value(f'mirrormaker_offset_lag{{topic="{ORDERS}"}}', 0)

            def ours() -> dict[str, float]:
                found = live.prometheus.query(f'{_COUNT}{{topic="east.{ORDERS}"}}')
                return {dict(labels)["partition"]: value for labels, value in found.items()}

            def theirs() -> dict[str, float]:
                return measures.record_counts(f"orient.{ORDERS}")

            wait_until(lambda: len(ours()) == PARTITIONS and ours() == theirs(), "the same counts", 60, 0.5)
            assert sum(ours().values()) > load.acknowledged
        finally:
            measures.close()
