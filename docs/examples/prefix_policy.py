"""A custom replication policy: `orders` of cluster `us-east` becomes `replica-us-east-orders`.

Aliases and topics may hold dashes themselves. A name is therefore never cut at a dash: it is compared with
the aliases in `clusters`. Two aliases of which one continues the other after a dash (`us` and `us-east`)
would make names ambiguous and are refused when the configuration is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

from heliograph.policy.replication import ReplicationPolicy


class PrefixReplicationPolicy(ReplicationPolicy):
    """Names mirrored topics `replica-<source>-<topic>`."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}

    def configure(self, settings: Mapping[str, str]) -> None:
        """Learn the aliases of all clusters."""
        aliases = [alias.strip() for alias in settings.get("clusters", "").split(",") if alias.strip()]
        if not aliases:
            raise ValueError("clusters is not set; the policy must know every alias")
        for longer, shorter in permutations(aliases, 2):
            if longer.startswith(f"{shorter}-"):
                raise ValueError(f"the aliases {shorter} and {longer} cannot be told apart in topic names")
        self._prefixes = {alias: f"replica-{alias}-" for alias in aliases}

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """The name on the target."""
        return f"replica-{source_alias}-{topic}"

    def topic_source(self, topic: str) -> str | None:
        """The alias whose prefix the name begins with."""
        return next((alias for alias, prefix in self._prefixes.items() if _extends(topic, prefix)), None)

    def upstream_topic(self, topic: str) -> str | None:
        """The name without that prefix."""
        source = self.topic_source(topic)
        return None if source is None else topic.removeprefix(self._prefixes[source])


def _extends(topic: str, prefix: str) -> bool:
    return topic.startswith(prefix) and topic != prefix
