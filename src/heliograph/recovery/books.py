"""What the target alone knows of a flow: enough to go on without the source."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from heliograph.config.flow import FlowConfig
from heliograph.control.ledger_tail import LedgerTail, read_tail
from heliograph.errors import StepFailed
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import all_positions, newest_positions
from heliograph.kafka.topics import TopicInfo
from heliograph.ledger.offset_map import OffsetMap, Place
from heliograph.ledger.summaries import read_summaries
from heliograph.model import Position, TopicPartition
from heliograph.policy.selection import should_replicate_topic
from heliograph.sync.topics import flow_topics
from heliograph.sync.translation import offset_map_of

Offset = tuple[TopicPartition, int]


@dataclass(frozen=True)
class Books:
    """Positions of all partitions that the target has of a flow, and the end of its ledger."""

    flow: FlowConfig
    targets: Mapping[TopicPartition, TopicPartition]  # of source partitions
    positions: Mapping[TopicPartition, Position]
    tail: LedgerTail

    def places(self, offsets: Collection[Offset]) -> dict[Offset, dict[TopicPartition, Place]]:
        """Where offsets of the source are in all partitions of the target that their records may have gone to."""
        offset_map = offset_map_of(self.flow, {where for where, _ in offsets})
        return {item: self._places_of(item, offset_map) for item in offsets}

    def _places_of(self, item: Offset, offset_map: OffsetMap) -> dict[TopicPartition, Place]:
        own = offset_map.to_target(*item)
        return ({} if own is None else {self.targets[item[0]]: own}) | offset_map.to_targets_elsewhere(*item)


def read_books(flow: FlowConfig, must_have_run: bool = True) -> Books:
    """Ask the target; raises StepFailed where the flow has never run, unless that is no matter."""
    access = access_for(flow.target, "admin")
    with Admin(access) as admin:
        topics = admin.topics()
    names = flow_topics(flow)
    missing = [name for name in (names.ledger, names.offsets) if name not in topics]
    if missing and not must_have_run:
        return Books(flow, {}, {}, LedgerTail(0))
    if missing:
        raise StepFailed(f"{flow.name} has never run: {flow.target.alias} has no topic {' and no '.join(missing)}")
    targets = _possible_targets(flow, topics)
    with opened(access, [names.offsets]) as (loop, network):
        summaries = read_summaries(loop, network, names.state)
        if flow.changes_records:
            known = all_positions(loop, network, names.offsets, flow.source.alias, summaries)
            targets = _routed_targets(flow, known, topics)
            known = {where: position for where, position in known.items() if where in targets}
        else:
            known = newest_positions(loop, network, names.offsets, flow.source.alias, targets, summaries)
        tail = read_tail(loop, network, names, int(time.time() * 1000))
    return Books(flow, {where: targets[where] for where in known}, known, tail)


def _possible_targets(flow: FlowConfig, topics: Mapping[str, TopicInfo]) -> dict[TopicPartition, TopicPartition]:
    """The partitions of the target that may be mirrors, by the source partition that each would be one of."""
    policy = flow.replication_policy
    origins = {name: policy.upstream_topic(name) or name for name in topics}
    return {
        TopicPartition(origin, number): TopicPartition(name, number)
        for name, origin in origins.items()
        if policy.format_remote_topic(flow.source.alias, origin) == name and is_carried(flow, origin)
        for number in range(topics[name].partitions)
    }


def _routed_targets(
    flow: FlowConfig, known: Collection[TopicPartition], topics: Mapping[str, TopicInfo]
) -> dict[TopicPartition, TopicPartition]:
    """Where partitions of the source go by the policy and the transforms, as far as the target has such partitions."""
    policy, chain = flow.replication_policy, flow.transforms.build()
    remotes = {where: policy.format_remote_topic(flow.source.alias, where.topic) for where in known}
    ends = {where: TopicPartition(chain.route(remote).topic, where.partition) for where, remote in remotes.items()}
    return {
        where: end
        for where, end in ends.items()
        if end.topic in topics and end.partition < topics[end.topic].partitions and is_carried(flow, where.topic)
    }


def is_carried(flow: FlowConfig, topic: str) -> bool:
    """Whether a topic of the source is mirrored and is more than heartbeats: nobody moves with those."""
    aliases = flow.source.alias, flow.target.alias
    is_wanted = should_replicate_topic(topic, flow.replication_policy, flow.topic_filter, *aliases, False)
    return is_wanted and not flow.replication_policy.is_heartbeats_topic(topic)
