"""Topics that are one to the people who use them: `orders`, and `us-east.orders` which was mirrored here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.policy.replication import ReplicationPolicy


class LogicalTopics:
    """Tells for each topic of a cluster what it is part of, and where its records were written.

    Only aliases of known clusters count, so that a local topic called `team.orders` stays what it is.
    """

    def __init__(self, policy: ReplicationPolicy, local: str, aliases: Iterable[str]) -> None:
        self._policy = policy
        self._local = local
        self._aliases = frozenset(aliases)

    def logical_topic(self, topic: str) -> str:
        """The name that the topic began with."""
        return [topic, *(upstream for _, upstream in self._way_back(topic))][-1]

    def origin(self, topic: str, provenance: str | None = None) -> str:
        """The alias of the cluster that a record of the topic was written on.

        Where names stay as they are they tell nothing, and what is known of the record itself must be given.
        """
        if provenance is not None:
            return provenance
        return [self._local, *(alias for alias, _ in self._way_back(topic))][-1]

    def is_part_of(self, topic: str, logical_topic: str) -> bool:
        """Whether the records of a topic belong to the logical one."""
        return self.logical_topic(topic) == logical_topic

    def _way_back(self, topic: str) -> Iterator[tuple[str, str]]:
        """Each cluster that the topic came through, the nearest first, with its name there."""
        seen = {topic}
        while (alias := self._policy.topic_source(topic)) in self._aliases:
            upstream = self._policy.upstream_topic(topic)
            if alias is None or upstream is None or upstream in seen:
                return
            seen.add(upstream)
            yield alias, upstream
            topic = upstream
