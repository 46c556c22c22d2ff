"""A client of one cluster that others are mirrored into."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import overload

from heliograph.client.offsets import GroupOffsets, latest_offsets
from heliograph.client.settings import read_settings
from heliograph.kafka import reading
from heliograph.kafka.admin import Admin
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.records import Record
from heliograph.policy import lineage
from heliograph.policy.replication import ReplicationPolicy


class MirrorClient(Closeable):
    """Answers what the topics of a cluster tell about mirroring. For one thread at a time; close it when done.

    `settings` are those of a Java client: `bootstrap.servers`, `security.protocol`, `sasl.…`, `ssl.…`, each also
    behind `admin.` or `consumer.`, and `replication.policy.…` as the mirror has them.
    """

    def __init__(self, settings: Mapping[str, str]) -> None:
        known = read_settings(settings)
        self._policy = known.replication_policy
        self._consumer = known.consumer
        self._admin = Admin(known.admin)

    def close(self) -> None:
        """Close all connections."""
        self._admin.close()

    @property
    def replication_policy(self) -> ReplicationPolicy:
        """The rules by which names of topics are understood."""
        return self._policy

    def heartbeat_topics(self) -> set[str]:
        """The topics with heartbeats, the cluster's own and mirrored ones."""
        return lineage.heartbeats_topics(self._policy, self._topics())

    def checkpoint_topics(self) -> set[str]:
        """The topics with checkpoints, one for each cluster that is mirrored into this one."""
        return lineage.checkpoints_topics(self._policy, self._topics())

    def replication_hops(self, upstream_alias: str) -> int | None:
        """How many flows lie between a cluster and this one, by the shortest way; None if there is none."""
        return lineage.replication_hops(self._policy, self._topics(), upstream_alias)

    def upstream_clusters(self) -> set[str]:
        """The clusters that records can come from, at any distance."""
        return lineage.upstream_clusters(self._policy, self._topics())

    def remote_topics(self, source_alias: str | None = None) -> set[str]:
        """The topics that were mirrored here, from any cluster or straight from the given one."""
        return lineage.remote_topics(self._policy, self._topics(), source_alias)

    @overload
    def remote_consumer_offsets(self, group: str, remote_alias: str, timeout: float = ...) -> GroupOffsets: ...

    @overload
    def remote_consumer_offsets(
        self, group: re.Pattern[str], remote_alias: str, timeout: float = ...
    ) -> dict[str, GroupOffsets]: ...

    def remote_consumer_offsets(
        self, group: str | re.Pattern[str], remote_alias: str, timeout: float = 30
    ) -> GroupOffsets | dict[str, GroupOffsets]:
        """Where a group of another cluster goes on reading here; for a pattern, by each group whose whole name fits.

        An answer is complete: ClusterError is raised when the checkpoints cannot be read to their end within
        `timeout` seconds, or when no flow from that cluster writes any.
        """
        checkpoints = self._records(self._policy.checkpoints_topic(remote_alias), timeout)
        if isinstance(group, str):
            return latest_offsets(checkpoints, lambda name: name == group).get(group, {})
        return latest_offsets(checkpoints, lambda name: group.fullmatch(name) is not None)

    def _topics(self) -> list[str]:
        return list(self._admin.topics())

    def _records(self, topic: str, timeout: float) -> Iterator[Record]:
        limit_ms = min(self._consumer.request_timeout_ms, int(timeout * 1000))
        return reading.read_single(replace(self._consumer, request_timeout_ms=limit_ms), topic, timeout)
