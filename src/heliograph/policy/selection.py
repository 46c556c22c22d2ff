"""Whether a flow mirrors a topic: the filter wants it, it is not internal, and it makes no cycle."""

from __future__ import annotations

from heliograph.policy.filters import TopicFilter
from heliograph.policy.lineage import hops
from heliograph.policy.replication import IdentityReplicationPolicy, ReplicationPolicy


def is_cycle(topic: str, policy: ReplicationPolicy, source_alias: str, target_alias: str) -> bool:
    """Whether a topic of the source has been on the target before, or came back to the source."""
    visited = {target_alias}
    # Under the identity policy every topic seems to come from the source.
    if not isinstance(policy, IdentityReplicationPolicy):
        visited.add(source_alias)
    return any(alias in visited for alias in hops(policy, topic))


def should_replicate_topic(
    topic: str,
    policy: ReplicationPolicy,
    topic_filter: TopicFilter,
    source_alias: str,
    target_alias: str,
    heartbeats_replicated: bool = True,
) -> bool:
    """Whether the flow from source to target mirrors a topic. Heartbeats need not pass the filter."""
    wanted = topic_filter.should_replicate_topic(topic) or (heartbeats_replicated and policy.is_heartbeats_topic(topic))
    return wanted and not policy.is_internal_topic(topic) and not is_cycle(topic, policy, source_alias, target_alias)
