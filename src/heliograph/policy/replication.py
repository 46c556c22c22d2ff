"""How a mirrored topic is called on the target, and what a name says about where a topic came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

SEPARATOR_KEY = "replication.policy.separator"
SEPARATOR_DEFAULT = "."
INTERNAL_SEPARATOR_KEY = "replication.policy.internal.topic.separator.enabled"
SOURCE_ALIAS_KEY = "source.cluster.alias"


class ReplicationPolicy(ABC):
    """The naming rules of a flow. A custom policy must answer three questions; the rest follows from them."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a policy may need no settings
        """Take what the policy needs from the flow's settings; ValueError refuses them."""

    @abstractmethod
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The name on the target of a topic of the given source cluster."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was mirrored from, or None if it is not a remote topic."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """The name of a remote topic on its source cluster, one hop back; None if it is not remote."""

    def original_topic(self, topic: str) -> str:
        """The name that a topic began with, however many hops ago."""
        seen = {topic}
        while (upstream := self.upstream_topic(topic)) is not None and upstream not in seen:
            seen.add(upstream)
            topic = upstream
        return topic

    def heartbeats_topic(self) -> str:
        """The name of the topic that heartbeats are written to."""
        return "heartbeats"

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """The name of the topic with the offset syncs to or from the given other cluster."""
        return f"mm2-offset-syncs.{cluster_alias}.internal"

    def checkpoints_topic(self, cluster_alias: str) -> str:
        """The name of the topic with the checkpoints of the given source cluster."""
        return f"{cluster_alias}.checkpoints.internal"

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Whether a topic holds heartbeats, its own or mirrored ones."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Whether a topic holds checkpoints."""
        return topic.endswith(".checkpoints.internal")

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Whether a topic belongs to MM2's own book-keeping."""
        return (topic.startswith("mm2") and topic.endswith(".internal")) or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Whether a topic belongs to MM2's or Kafka's own book-keeping and must never be mirrored."""
        return self.is_mm2_internal_topic(topic) or topic.startswith(("__", "."))


class DefaultReplicationPolicy(ReplicationPolicy):
    """Puts the alias of the source in front: `orders` of `primary` becomes `primary.orders`."""

    def __init__(self) -> None:
        self._separator = SEPARATOR_DEFAULT
        self._internal_separator = SEPARATOR_DEFAULT

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the separator, and whether internal topics use it too."""
        self._separator = settings.get(SEPARATOR_KEY, SEPARATOR_DEFAULT)
        if not self._separator:
            raise ValueError(f"{SEPARATOR_KEY} is empty, so that an alias cannot be told from a topic")
        shared = settings.get(INTERNAL_SEPARATOR_KEY, "true").strip().lower() == "true"
        self._internal_separator = self._separator if shared else SEPARATOR_DEFAULT

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The alias, the separator, the topic."""
        return f"{source_alias}{self._separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """What stands before the first separator, if anything but separators follows it."""
        alias, _, rest = topic.partition(self._separator)
        return alias if rest.replace(self._separator, "") else None

    def upstream_topic(self, topic: str) -> str | None:
        """What stands after the first separator."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self._separator) :]

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """MM2's name, with the separator of internal topics."""
        return f"mm2-offset-syncs{self._internal_separator}{cluster_alias}{self._internal_suffix}"

    def checkpoints_topic(self, cluster_alias: str) -> str:
        """MM2's name, with the separator of internal topics."""
        return cluster_alias + self._checkpoints_suffix

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Whether a name ends like that of a checkpoints topic."""
        return topic.endswith(self._checkpoints_suffix)

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Whether a name is made like those of MM2's own topics."""
        made_by_mm2 = topic.startswith("mm2") and topic.endswith(self._internal_suffix)
        return made_by_mm2 or self.is_checkpoints_topic(topic)

    @property
    def _internal_suffix(self) -> str:
        return f"{self._internal_separator}internal"

    @property
    def _checkpoints_suffix(self) -> str:
        return f"{self._internal_separator}checkpoints{self._internal_suffix}"


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Leaves names as they are, so that names alone cannot show cycles. Heartbeats are still prefixed."""

    def __init__(self) -> None:
        super().__init__()
        self._source_alias: str | None = None

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the source alias as well: every topic is taken to come from there."""
        super().configure(settings)
        self._source_alias = settings.get(SOURCE_ALIAS_KEY)

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The same name, except for heartbeats."""
        return super().format_remote_topic(source_alias, topic) if self._looks_like_heartbeats(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        """The configured source, except for heartbeats."""
        return super().topic_source(topic) if self._looks_like_heartbeats(topic) else self._source_alias

    def upstream_topic(self, topic: str) -> str | None:
        """The same name, except for heartbeats."""
        return super().upstream_topic(topic) if self._looks_like_heartbeats(topic) else topic

    def _looks_like_heartbeats(self, topic: str) -> bool:
        return topic.endswith(self.heartbeats_topic())
