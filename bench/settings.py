"""The mm2.properties that both rivals run with, and what a good operator adds for MirrorMaker 2."""

from __future__ import annotations

from heliograph.embedded.cluster import EmbeddedCluster

FLOW = "primary->backup"


def common(source: EmbeddedCluster, target: EmbeddedCluster, topics: str, lanes: int) -> dict[str, str]:
    """What both need."""
    return {
        "clusters": "primary, backup",
        "primary.bootstrap.servers": source.bootstrap_servers,
        "backup.bootstrap.servers": target.bootstrap_servers,
        f"{FLOW}.enabled": "true",
        f"{FLOW}.topics": topics,
        "emit.heartbeats.enabled": "false",
        f"{FLOW}.emit.checkpoints.enabled": "true",
        "tasks.max": str(lanes),
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "config.storage.replication.factor": "1",
        "refresh.topics.interval.seconds": "5",
        "sync.topic.acls.enabled": "false",
    }


def heliograph(base: dict[str, str], exactly_once: bool = True) -> dict[str, str]:
    """Ours."""
    extra = {"ledger.topic.replication.factor": "1"}
    if not exactly_once:
        extra["backup.exactly.once.source.support"] = "disabled"
    return {**base, **extra}


def mirrormaker2(base: dict[str, str], codec: str) -> dict[str, str]:
    """MirrorMaker 2 with large fetches and batches, and the codec of the data."""
    return {
        **base,
        "primary.consumer.fetch.max.bytes": "52428800",
        "primary.consumer.max.partition.fetch.bytes": "10485760",
        "primary.consumer.max.poll.records": "20000",
        "primary.consumer.receive.buffer.bytes": "2097152",
        "backup.producer.batch.size": "262144",
        "backup.producer.linger.ms": "5",
        "backup.producer.buffer.memory": "134217728",
        "backup.producer.compression.type": codec,
        "backup.producer.max.request.size": "10485760",
        "backup.producer.send.buffer.bytes": "2097152",
    }


def eager(properties: dict[str, str]) -> dict[str, str]:
    """The same with a producer that never waits for more records."""
    return {**properties, "backup.producer.linger.ms": "0"}


def exactly_once(properties: dict[str, str], port: int) -> dict[str, str]:
    """The same with transactions, for which MirrorMaker 2 wants an internal REST server, here on this port."""
    return {
        **properties,
        "backup.exactly.once.source.support": "enabled",
        "primary.consumer.isolation.level": "read_committed",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": f"http://127.0.0.1:{port}",
    }
