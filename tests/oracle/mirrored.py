"""What MirrorMaker 2 has left behind on two clusters."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.kafka import reading
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.zoo import raw

TOPIC = "orders"
GROUP = "billing"
METADATA = "by hand: Zürich"
RECORDS = 50
COMMITTED = 30
MAX_LAG = 7
HEARTBEATS = "heartbeats"
CHECKPOINTS = "north.checkpoints.internal"
OFFSET_SYNCS = "mm2-offset-syncs.south.internal"

_FACTORS = ("", "heartbeats.topic.", "offset-syncs.topic.", "checkpoints.topic.")
_STORES = ("offset", "status", "config")


@dataclass(frozen=True)
class Mirrored:
    """The clusters of the flow north->south."""

    north: EmbeddedCluster
    south: EmbeddedCluster

    @property
    def settings(self) -> dict[str, str]:
        """A mirror that writes everything it can every second."""
        return {
            "clusters": "north, south",
            "north.bootstrap.servers": self.north.bootstrap_servers,
            "south.bootstrap.servers": self.south.bootstrap_servers,
            "north->south.enabled": "true",
            "topics": TOPIC,
            "groups": GROUP,
            "offset.lag.max": str(MAX_LAG),
            "refresh.topics.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1",
            "emit.checkpoints.interval.seconds": "1",
            "south.offset.flush.interval.ms": "1000",
            "offset.storage.partitions": "2",
            "status.storage.partitions": "1",
            **{f"{prefix}replication.factor": "1" for prefix in _FACTORS},
            **{f"{store}.storage.replication.factor": "1" for store in _STORES},
        }

    def is_complete(self) -> bool:
        """Whether all is mirrored, the last offset sync written, a checkpoint too, and heartbeats have come through."""
        last = OffsetSync(TopicPartition(TOPIC, 0), RECORDS - 1, RECORDS - 1)
        syncs = [OffsetSync.decode(record.key, record.value) for record in records_of(self.north, OFFSET_SYNCS)]
        return last in syncs and all(records_of(self.south, topic) for topic in (CHECKPOINTS, f"north.{HEARTBEATS}"))


def records_of(cluster: EmbeddedCluster, topic: str) -> list[Record]:
    """All records of a topic of one partition; none if there is no such topic."""
    try:
        with raw.network(cluster.bootstrap_servers, topic) as (loop, network):
            start = reading.list_offsets(network, topic, {0: reading.EARLIEST})
            return [record for _, record in reading.read_to_end(loop, network, topic, start)]
    except BrokerRefused:
        return []
