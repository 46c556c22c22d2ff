"""Heartbeats: a record on the target every second or so, which shows wherever it is mirrored that records get there."""

from __future__ import annotations

import time

from heliograph.config.flow import FlowConfig
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.sync.compacted_topic import CompactedTopic


class Heartbeats(Closeable):
    """Writes the heartbeats of one pair of clusters, whether its flow is enabled or not."""

    def __init__(self, flow: FlowConfig) -> None:
        self._aliases = flow.source.alias, flow.target.alias
        name = flow.replication_policy.heartbeats_topic()
        self._topic = CompactedTopic(flow, flow.target, name, "heartbeats.topic.replication.factor")

    def run(self) -> str:
        """Write one."""
        self._topic.append([Heartbeat(*self._aliases, int(time.time() * 1000))])
        return ""

    def close(self) -> None:
        """Hang up."""
        self._topic.close()
