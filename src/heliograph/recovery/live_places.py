"""Where the groups of a living source go on at its target, by what they have committed now."""

from __future__ import annotations

from collections.abc import Collection

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import GroupInfo, Groups, Offsets
from heliograph.model import TopicPartition
from heliograph.recovery.group_move import GroupPlace
from heliograph.sync.group_offsets import GroupPlaces
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.translation import Translator


def followed_groups(flow: FlowConfig) -> tuple[dict[str, GroupInfo], dict[str, Offsets]]:
    """The groups of the source that the flow is asked to follow, and what they have committed."""
    ours, wanted = progress_group_id(flow), flow.group_filter.should_replicate_group
    with Groups(access_for(flow.source, "admin")) as groups:
        listed = {name: info for name, info in groups.list().items() if wanted(name) and name != ours}
        return listed, dict(groups.committed(sorted(listed)))


def live_places(
    flow: FlowConfig, opposite: FlowConfig | None, settled: Collection[TopicPartition] = ()
) -> list[GroupPlace]:
    """Ask both clusters, and the ledger for every run that matters; what is not mirrored has no place.

    `settled` are partitions of the target all of whose own records the source has too.
    """
    _, committed = followed_groups(flow)
    pairs = {(where, item.offset) for offsets in committed.values() for where, item in offsets.items()}
    translator = Translator(flow, opposite)
    translator.settled = settled
    with Admin(access_for(flow.source, "admin")) as source, Admin(access_for(flow.target, "admin")) as target:
        translator.read(source, target, {where for where, _ in pairs})
        places = translator.translate(pairs, source, target)
        found = GroupPlaces(committed, places, translator.translate_elsewhere(pairs, target))
    return [
        GroupPlace(group, where, item.offset, place.target, place.offset, place.is_exact, item.metadata)
        for group, where, item, place in found.translated()
    ]
