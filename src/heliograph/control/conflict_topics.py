"""Finds the topics in which conflicts are looked for, and creates what is missing for that."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from heliograph.config.conflict_config import ConflictConfig
from heliograph.engine.conflicts.read_task import TopicOrigin
from heliograph.engine.conflicts.scope import Scope
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic, Status, TopicInfo
from heliograph.model import TopicPartition
from heliograph.sync.topics import create_topics, flow_topics
from heliograph.sync.watched_topics import WatchedTopics

log = logging.getLogger(__name__)


class ConflictTopics:
    """The topics of one cluster; keeps its connection."""

    def __init__(self, config: ConflictConfig) -> None:
        self._config = config
        self._watched = WatchedTopics(config)
        self._access = access_for(config.cluster, "admin")
        self._admin: Admin | None = None

    def has(self, topic: str) -> bool:
        """Whether conflicts are looked for in a topic."""
        return self._watched.has(topic)

    def look(self) -> Scope:
        """All topics that there are, after all that is missing was created."""
        if self._admin is None:
            self._admin = Admin(self._access)
        infos = self._admin.topics()
        if missing := self._watched.missing(infos):
            self._create(missing, self._admin)
        return self.scope(infos)

    def scope(self, infos: Mapping[str, TopicInfo]) -> Scope:
        """What detection reads of these topics."""
        read = self._watched.read(infos)
        partitions = [TopicPartition(name, n) for name, info in sorted(read.items()) for n in range(info.partitions)]
        ids = {name: str(info.topic_id) for name, info in read.items()}
        return Scope({name: self._origin(name) for name in read}, partitions, self._watched.views(infos), ids)

    def hang_up(self) -> None:
        """Close the connection; the next look makes a new one."""
        if self._admin is not None:
            self._admin.close()
        self._admin = None

    def _create(self, topics: list[NewTopic], admin: Admin) -> None:
        for item in create_topics(topics, admin):
            if item.outcome.status is Status.REFUSED:
                raise BrokerRefused(f"{self._access.alias}: create {item.topic}", 0, item.outcome.reason)
            but = f", but it {item.warning}" if item.warning else ""
            log.info("%s: created %s%s", self._config.name, item.topic, but)

    def _origin(self, topic: str) -> TopicOrigin:
        bringers = [flow for flow in self._config.flows if flow.keeps_names]
        topics = {flow.source.alias: flow_topics(flow) for flow in bringers}
        header = next((flow.provenance_header for flow in bringers if flow.provenance_header), "")
        return TopicOrigin(self._watched.logical_topic(topic), self._watched.origin(topic), topics, header)
