"""The topics of a cluster in which conflicts are looked for, and those that come of it."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.config.conflict_config import ConflictConfig
from heliograph.conflicts import decision
from heliograph.conflicts.own_topics import DECISION_SETTINGS, PROGRESS_SETTINGS, VIEW_SETTINGS, progress_topic
from heliograph.conflicts.topics import LogicalTopics
from heliograph.kafka.topics import NewTopic, TopicInfo
from heliograph.policy.replication import ReplicationPolicy


class WatchedTopics:
    """Tells by their names."""

    def __init__(self, config: ConflictConfig) -> None:
        self._config = config
        self._policy = _policy(config)
        self._names = LogicalTopics(self._policy, config.cluster.alias, config.aliases)
        self._own = config.own_topics
        self._answers: dict[str, bool] = {}  # asked for every topic of the cluster, every few seconds

    def has(self, topic: str) -> bool:
        """Whether conflicts are looked for in a topic of the cluster."""
        if topic not in self._answers:
            self._answers[topic] = self._is_watched(topic)
        return self._answers[topic]

    def _is_watched(self, topic: str) -> bool:
        if self._own.has(topic) or self._policy.is_internal_topic(topic) or self._policy.is_heartbeats_topic(topic):
            return False
        return self._own.covers(self.logical_topic(topic))

    def logical_topic(self, topic: str) -> str:
        """The name that the topic began with."""
        return self._names.logical_topic(topic)

    def origin(self, topic: str) -> str:
        """Where the records of a topic were written, as far as its name tells."""
        return self._names.origin(topic)

    def read(self, infos: Mapping[str, TopicInfo]) -> dict[str, TopicInfo]:
        """Those of the topics in which conflicts are looked for."""
        return {name: info for name, info in infos.items() if not info.is_internal and self.has(name)}

    def views(self, infos: Mapping[str, TopicInfo]) -> dict[str, str]:
        """The topics of views, and whose they are."""
        logical = sorted({self.logical_topic(name) for name in self.read(infos)})
        return {view: topic for topic in logical if (view := self._own.view_of(topic))}

    def missing(self, infos: Mapping[str, TopicInfo]) -> list[NewTopic]:
        """The topics that must be created first; views get as many partitions as the largest topic behind them."""
        copies = self._config.number("conflicts.topic.replication.factor")
        wanted = [
            NewTopic(decision.TOPIC, 1, copies, DECISION_SETTINGS),
            NewTopic(progress_topic(self._config.cluster.alias), 1, copies, PROGRESS_SETTINGS),
        ]
        read = self.read(infos)
        for view, topic in self.views(infos).items():
            sizes = [info.partitions for name, info in read.items() if self.logical_topic(name) == topic]
            wanted.append(NewTopic(view, max(sizes), copies, VIEW_SETTINGS))
        return [topic for topic in wanted if topic.name not in infos]


def _policy(config: ConflictConfig) -> ReplicationPolicy:
    """One that prefixes names, if any flow has such a one: those that keep names tell nothing."""
    policies = [flow.replication_policy for flow in config.flows if not flow.keeps_names]
    return policies[0] if policies else config.flows[0].replication_policy
