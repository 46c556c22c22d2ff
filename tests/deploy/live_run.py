"""A mirror that really runs, between two clusters of its own, and a Prometheus that scrapes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from heliograph.config.mirror_config import load
from heliograph.control.rest.server import RestServer
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.topics import NewTopic
from tests.chaos.load import Load
from tests.chaos.outages import SOON_MISSED
from tests.chaos.stage import admin_of, await_growth, write_settings
from tests.control.metrics.scrape import Scrape
from tests.deploy.prometheus import Prometheus, running_prometheus
from tests.waiting import wait_until

PARTITIONS = 3
ORDERS, LATE = "orders", "late"
GROUP = "shop"
FLOW = "east->west"
_OPTIONS = {
    "topics": f"{ORDERS}, {LATE}",
    "emit.heartbeats.enabled": "true",
    "emit.heartbeats.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "heartbeats.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
}


@dataclass(frozen=True)
class LiveRun:
    """All that runs."""

    source: EmbeddedCluster
    target: EmbeddedCluster
    mirror: RunningMirror
    address: str
    prometheus: Prometheus

    @property
    def flow(self) -> RunningFlow:
        """The only flow that mirrors."""
        return self.mirror.flow(FLOW)

    def load(self) -> Load:
        """Orders from now on."""
        return Load(self.source.bootstrap_servers, ORDERS, PARTITIONS, per_second=300)

    def scrape(self) -> Scrape:
        """What the mirror tells at present."""
        answer = httpx.get(f"{self.address}/metrics", timeout=10)
        answer.raise_for_status()
        return Scrape.of(answer.text)


@contextmanager
def running(folder: Path) -> Iterator[LiveRun]:
    """Everything started, with some orders mirrored and a group that has read some."""
    specs = [ClusterSpec(alias, settings=SOON_MISSED) for alias in ("east", "west")]
    with running_clusters(*specs) as (source, target):
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(ORDERS, PARTITIONS, 1, {"retention.ms": "86400000"}), NewTopic(LATE, 1, 1)])
        file = folder / "mm2.properties"
        write_settings(file, {"east": source, "west": target}, [FLOW], _OPTIONS)
        mirror = RunningMirror(load(file))
        server = RestServer(mirror, ["http://127.0.0.1:0"])
        server.start()
        mirror.start()
        try:
            address = server.addresses[0]
            with running_prometheus(address.rpartition("/")[2], folder) as prometheus:
                run = LiveRun(source, target, mirror, address, prometheus)
                _begin(run)
                yield run
        finally:
            server.stop()
            mirror.stop()


def _begin(run: LiveRun) -> None:
    with run.load():
        await_growth(run.target, f"east.{ORDERS}")
    consumer = KafkaConsumer(bootstrap_servers=run.source.bootstrap_servers, group_id=GROUP, enable_auto_commit=False)
    with closing(consumer):
        where = TopicPartition(ORDERS, 0)
        consumer.assign([where])
        consumer.commit({where: OffsetAndMetadata(5, "", -1)})
    wait_until(lambda: bool(run.flow.meter.checkpoint_ms), "a checkpoint", 60)
