"""A cluster that records of MirrorMaker 2's kinds are written to by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster
from heliograph.embedded.listeners import sasl_plain
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.topics import create_topic

CHECKPOINTS = [
    Checkpoint("billing", TopicPartition("west.orders", 0), 10, 20, "first"),
    Checkpoint("billing", TopicPartition("west.orders", 1), 30, 31),
    Checkpoint("billing-eu", TopicPartition("west.orders", 0), 5, 6),
    Checkpoint("shipping", TopicPartition("west.parcels", 0), 7, 8),
    Checkpoint("billing", TopicPartition("west.orders", 0), 100, 110, "second"),
]
_TOPICS = [
    "orders",
    "west.orders",
    "west.parcels",
    "west.north.orders",
    "heartbeats",
    "west.heartbeats",
    "west.north.heartbeats",
    "north.heartbeats",
    "west.checkpoints.internal",
    "checkpoints.internal",
    "mm2-offsets.west.internal",
]


def checkpoint_record(checkpoint: Checkpoint) -> Record:
    """The record that a checkpoint is written as."""
    return Record(0, 1_700_000_000_000, checkpoint.encode_key(), checkpoint.encode_value())


def write(cluster: EmbeddedCluster, topic: str, records: list[Record]) -> None:
    """Append records to partition 0."""
    raw.append(cluster.bootstrap_servers, TopicPartition(topic, 0), [raw.batch_of(records)])


@pytest.fixture(scope="package")
def edge() -> Iterator[EmbeddedCluster]:
    """The clusters west and, behind it and directly, north have been mirrored into this one."""
    spec = ClusterSpec("edge", listeners=[sasl_plain("SASL", {"alice": "s3cret"})], heap="256m")
    with EmbeddedCluster(spec) as cluster:
        for topic in _TOPICS:
            create_topic(cluster.bootstrap_servers, topic)
        write(cluster, "west.checkpoints.internal", [checkpoint_record(checkpoint) for checkpoint in CHECKPOINTS])
        yield cluster


@pytest.fixture
def settings(edge: EmbeddedCluster) -> dict[str, str]:
    """The least that a client needs to be told."""
    return {"bootstrap.servers": edge.bootstrap_servers}
