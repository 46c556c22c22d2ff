"""One of MirrorMaker 2's compacted topics of a single partition, such as the checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

from heliograph.config.cluster import ClusterConfig
from heliograph.config.flow import FlowConfig
from heliograph.errors import BrokerRefused, ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic, Status
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from heliograph.sync.topics import MAY_CREATE, create_topics

_RECORDS_A_BATCH = 1000  # small ones, so that a batch stays far below what any broker takes


class Keyed(Protocol):
    """What has its place in a compacted topic: the newest of each key stays."""

    def encode_key(self) -> bytes:
        """The record's key."""

    def encode_value(self) -> bytes:
        """The record's value."""


class CompactedTopic(Closeable):
    """Is created before it is first used; what is appended is acknowledged by all replicas in sync."""

    def __init__(self, flow: FlowConfig, cluster: ClusterConfig, name: str, copies_setting: str) -> None:
        """`copies_setting` names the setting of its replication factor."""
        copies = flow.number(copies_setting)
        self._cluster = cluster
        self._where = TopicPartition(name, 0)
        self._topic = NewTopic(name, 1, copies, {"cleanup.policy": "compact"})
        self._writer = Writer(access_for(cluster, "producer"))
        self._may_create = flow.get(MAY_CREATE) is True
        self._is_there = False

    def create(self) -> None:
        """Make sure that the topic exists, unless that is left to somebody else."""
        if self._is_there or not self._may_create:
            return
        with Admin(access_for(self._cluster, "admin")) as admin:
            [applied] = create_topics([self._topic], admin)
        if applied.outcome.status is Status.REFUSED:
            where = f"{self._where.topic} on {self._cluster.alias}"
            raise ClusterError(f"{where} is missing, and to create it was refused: {applied.outcome.reason}")
        self._is_there = True

    def append(self, items: Sequence[Keyed]) -> None:
        """Write items in their order."""
        self.create()
        now = int(time.time() * 1000)
        records = [Record(0, now, item.encode_key(), item.encode_value()) for item in items]
        try:
            for start in range(0, len(records), _RECORDS_A_BATCH):
                self._writer.append(self._where, records[start : start + _RECORDS_A_BATCH])
        except BrokerRefused:
            self._is_there = False  # it may have been deleted: the next time it is looked for again
            raise

    def read(self) -> Iterator[Record]:
        """All records, the oldest first."""
        self.create()
        return reading.read_single(access_for(self._cluster, "consumer"), self._where.topic)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
