"""What tells of earlier transactions of a flow: its producer ids, its positions, and where else it may have written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from heliograph.kafka.admin import Admin
from heliograph.kafka.leftovers import hiding
from heliograph.kafka.network import Network
from heliograph.ledger.writers import known_writers
from heliograph.model import Assignment, Position, TopicPartition

_INTERNAL = "__"  # how the names of Kafka's own topics begin


def producer_ids(network: Network, state: str) -> frozenset[int]:
    """All ids that the flow has ever written under, also those that have no record of their own any more."""
    known = known_writers(network, state)
    known.follow(network.loop, network, state)
    return frozenset(known.ids)


def only_sources(assignments: Iterable[Assignment]) -> dict[TopicPartition, TopicPartition]:
    """By target the source that is copied there, where that is the only one."""
    found: dict[TopicPartition, set[TopicPartition]] = {}
    for item in assignments:
        found.setdefault(item.target, set()).add(item.source)
    return {target: next(iter(sources)) for target, sources in found.items() if len(sources) == 1}


def reached_on(
    sources: Mapping[TopicPartition, TopicPartition], known: Mapping[TopicPartition, Position]
) -> dict[TopicPartition, int]:
    """The last offset of each target that is committed, -1 for none; MirrorMaker 2's positions do not tell."""
    told = {target: known.get(source) for target, source in sources.items()}
    reached = {target: -1 if position is None else position.target_offset for target, position in told.items()}
    return {target: offset for target, offset in reached.items() if offset >= 0 or told[target] is None}


def other_partitions(network: Network, targets: Collection[TopicPartition]) -> set[TopicPartition]:
    """Of all other partitions of the cluster those where something is open: records may have been sent anywhere."""
    with Admin(network.access) as admin:
        names = {name for name in admin.topics() if not name.startswith(_INTERNAL)}
    network.look_up(names)
    others = {TopicPartition(name, number) for name in names for number in network.partitions(name)}
    return hiding(network, others - set(targets))
