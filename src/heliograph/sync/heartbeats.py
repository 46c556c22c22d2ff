"""Heartbeats: a record on the target every second or so, which shows wherever it is mirrored that records get there."""

from __future__ import annotations

import time

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from heliograph.sync.topics import create_topics


class Heartbeats:
    """Writes the heartbeats of one pair of clusters, whether its flow is enabled or not."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._where = TopicPartition(flow.replication_policy.heartbeats_topic(), 0)
        self._writer = Writer(access_for(flow.target, "producer"))
        self._is_prepared = False

    def run(self) -> str:
        """Write one heartbeat; the first time, make sure that there is a topic for it."""
        if not self._is_prepared:
            self._prepare()
            self._is_prepared = True
        now = int(time.time() * 1000)
        beat = Heartbeat(self._flow.source.alias, self._flow.target.alias, now)
        self._writer.append(self._where, [Record(0, now, beat.encode_key(), beat.encode_value())])
        return ""

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def _prepare(self) -> None:
        copies = self._flow.get("heartbeats.topic.replication.factor")
        assert isinstance(copies, int)
        with Admin(access_for(self._flow.target, "admin")) as admin:
            create_topics([NewTopic(self._where.topic, 1, copies, {"cleanup.policy": "compact"})], admin)
