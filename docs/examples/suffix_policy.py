"""A custom policy and a custom filter: `orders` of cluster `us-east` becomes `orders-replica.us-east`.

The policy names topics; the filter leaves out topics with `local` in their names and topics that are replicas
already, so that nothing travels further than one hop. Both stand on their own: the policy alone is safe from
cycles. `replication.policy.separator` replaces the dot before the alias.

As names are compared with the aliases in `clusters`, aliases and topics may hold dashes, dots and `-replica`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from heliograph.policy.filters import DefaultTopicFilter
from heliograph.policy.replication import ReplicationPolicy


class SuffixReplicationPolicy(ReplicationPolicy):
    """Names mirrored topics `<topic>-replica.<source>`."""

    def __init__(self) -> None:
        self._separator = "."
        self._suffixes: dict[str, str] = {}

    def configure(self, settings: Mapping[str, str]) -> None:
        """Learn the separator and the aliases of all clusters."""
        self._separator = settings.get("replication.policy.separator", ".")
        aliases = [alias.strip() for alias in settings.get("clusters", "").split(",") if alias.strip()]
        if not aliases:
            raise ValueError("clusters is not set; the policy must know every alias")
        self._suffixes = {alias: self._suffix(alias) for alias in aliases}
        for longer, shorter in permutations(aliases, 2):
            if longer.endswith(self._suffixes[shorter]):
                raise ValueError(f"the aliases {shorter} and {longer} cannot be told apart in topic names")

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The name on the target."""
        return topic + self._suffix(source_alias)

    def topic_source(self, topic: str) -> str | None:
        """The alias whose suffix the name ends with."""
        return next((alias for alias, suffix in self._suffixes.items() if _extends(topic, suffix)), None)

    def upstream_topic(self, topic: str) -> str | None:
        """The name without that suffix."""
        source = self.topic_source(topic)
        return None if source is None else topic.removesuffix(self._suffixes[source])

    def _suffix(self, alias: str) -> str:
        return f"-replica{self._separator}{alias}"


class SharedTopicFilter(DefaultTopicFilter):
    """Leaves out local topics and replicas, and obeys `topics` and `topics.exclude` for all others."""

    def __init__(self) -> None:
        super().__init__()
        self._policy: SuffixReplicationPolicy | None = None

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the lists, and what the policy needs to know a replica."""
        super().configure(settings)
        self._policy = SuffixReplicationPolicy()
        self._policy.configure(settings)

    def should_replicate_topic(self, topic: str) -> bool:
        """Whether a topic is meant for other clusters."""
        is_replica = self._policy is not None and self._policy.topic_source(topic) is not None
        return "local" not in topic and not is_replica and super().should_replicate_topic(topic)


def _extends(topic: str, suffix: str) -> bool:
    return topic.endswith(suffix) and topic != suffix
