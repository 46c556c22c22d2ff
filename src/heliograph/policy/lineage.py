"""What topic names tell about the clusters that data passed through: what MM2's MirrorClient answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.policy.replication import ReplicationPolicy


def hops(policy: ReplicationPolicy, topic: str) -> Iterator[str]:
    """The aliases that a topic came through, the nearest first; ends where names lead back to themselves."""
    seen: set[str] = set()
    upstream: str | None = topic
    while upstream is not None and upstream not in seen:
        seen.add(upstream)
        source = policy.topic_source(upstream)
        if source is None:
            return
        yield source
        upstream = policy.upstream_topic(upstream)


def count_hops(policy: ReplicationPolicy, topic: str, source_alias: str) -> int | None:
    """How many clusters back a topic was on the given one, or None if it never was."""
    return next((count for count, alias in enumerate(hops(policy, topic), 1) if alias == source_alias), None)


def heartbeats_topics(policy: ReplicationPolicy, topics: Iterable[str]) -> set[str]:
    """Those of a cluster's topics that hold heartbeats."""
    return {topic for topic in topics if policy.is_heartbeats_topic(topic)}


def checkpoints_topics(policy: ReplicationPolicy, topics: Iterable[str]) -> set[str]:
    """Those of a cluster's topics that hold checkpoints."""
    return {topic for topic in topics if policy.is_checkpoints_topic(topic)}


def remote_topics(policy: ReplicationPolicy, topics: Iterable[str], source_alias: str | None = None) -> set[str]:
    """Those of a cluster's topics that were mirrored, from any cluster or straight from the given one."""
    sources = {topic: policy.topic_source(topic) for topic in topics if not policy.is_internal_topic(topic)}
    return {topic for topic, source in sources.items() if source is not None and source_alias in (None, source)}


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[str]) -> set[str]:
    """The clusters that a cluster's heartbeats came from or through."""
    return {alias for topic in heartbeats_topics(policy, topics) for alias in hops(policy, topic)}


def replication_hops(policy: ReplicationPolicy, topics: Iterable[str], source_alias: str) -> int | None:
    """The fewest hops that heartbeats took from the given cluster, or None if none came."""
    counts = (count_hops(policy, topic, source_alias) for topic in heartbeats_topics(policy, topics))
    return min((count for count in counts if count is not None), default=None)
