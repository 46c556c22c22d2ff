"""A flow between two real clusters, mirrored by hand: what a mirror would write is written by the test."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition
from heliograph.monitor.lag import TopicLag
from heliograph.monitor.look import Look
from tests.zoo import raw
from tests.zoo.topics import create_topic

_numbers = count(1)


@dataclass(frozen=True)
class Scene:
    """One flow under aliases that no other test uses."""

    source: str
    target: str
    alias: str
    file: Path

    @property
    def flow(self) -> FlowConfig:
        """The flow of the file."""
        flow = load(self.file).flow(f"{self.alias}->there")
        assert flow is not None
        return flow

    @property
    def heartbeats(self) -> str:
        """The mirrored heartbeats on the target."""
        return f"{self.alias}.heartbeats"

    def source_topic(self, topic: str, *sizes: int) -> str:
        """A topic of the source with so many records in each partition; its name on the source."""
        name = create_topic(self.source, f"{self.alias}-{topic}", len(sizes))
        for number, size in enumerate(sizes):
            self.send(name, number, size)
        return name

    def target_topic(self, topic: str, *sizes: int) -> str:
        """The mirror of a source topic with so many records in each partition; its name on the target."""
        name = create_topic(self.target, f"{self.alias}.{topic}", len(sizes))
        for number, size in enumerate(sizes):
            append(self.target, name, number, _records(size))
        return name

    def send(self, topic: str, partition: int, size: int) -> None:
        """More records for a source partition."""
        append(self.source, topic, partition, _records(size))

    def create_offsets(self) -> None:
        """The topic of positions, as MirrorMaker 2 makes it."""
        create_topic(self.target, self._offsets, 5, {"cleanup.policy": "compact"})

    def done(self, topic: str, offsets: Mapping[int, int], **fields: object) -> None:
        """Write positions: the last offset that is mirrored of each partition."""
        for number, offset in offsets.items():
            key = positions.encode_key(self.alias, TopicPartition(topic, number))
            value = positions.encode_value(Position(offset, **fields))  # type: ignore[arg-type]
            append(self.target, self._offsets, positions.partition_for(key, 5), [Record(0, _now(), key, value)])

    def synced(self, sync: OffsetSync) -> None:
        """Write an offset sync where MirrorMaker 2 does by default: on the source."""
        record = Record(0, _now(), sync.encode_key(), sync.encode_value())
        append(self.source, "mm2-offset-syncs.there.internal", 0, [record])

    def beat(self, *ages_ms: int) -> None:
        """Let heartbeats of such ages arrive on the target."""
        for age in ages_ms:
            heartbeat = Heartbeat("there", self.alias, _now() - age)
            record = Record(0, heartbeat.timestamp_ms, heartbeat.encode_key(), heartbeat.encode_value())
            append(self.target, self.heartbeats, 0, [record])

    @property
    def _offsets(self) -> str:
        return f"mm2-offsets.{self.alias}.internal"


def make_scene(folder: Path, source: EmbeddedCluster, target: EmbeddedCluster, text: str = "") -> Scene:
    """A file with one flow; it mirrors the topics that begin with its alias, and no heartbeats."""
    alias = f"seen{next(_numbers)}"
    file = folder / f"{alias}.properties"
    file.write_text(
        f"clusters={alias},there\n{alias}->there.enabled=true\ntopics={alias}-.*\n"
        f"heartbeats.replication.enabled=false\nreplication.factor=1\n"
        f"{alias}.bootstrap.servers={source.bootstrap_servers}\nthere.bootstrap.servers={target.bootstrap_servers}\n{text}"
    )
    return Scene(source.bootstrap_servers, target.bootstrap_servers, alias, file)


def append(servers: str, topic: str, partition: int, records: list[Record]) -> None:
    """One batch at the end of a partition."""
    if records:
        raw.append(servers, TopicPartition(topic, partition), [raw.batch_of(records)])


def topic_of(look: Look, topic: str) -> TopicLag:
    """What a look shows of one topic."""
    return next(item for item in look.topics if item.topic == topic)


def lags(topic: TopicLag) -> list[int]:
    """The lags of all partitions in order."""
    return [item.lag_records for item in topic.partitions]


def _records(size: int) -> list[Record]:
    return [Record(0, _now(), b"k", b"v") for _ in range(size)]


def _now() -> int:
    return int(time.time() * 1000)
