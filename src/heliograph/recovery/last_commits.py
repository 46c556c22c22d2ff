"""What the groups of a source had committed, as last seen: for the day when the source cannot be asked."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.config.flow import FlowConfig
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.checkpoint import Checkpoint, newest_checkpoints
from heliograph.model import TopicPartition
from heliograph.recovery.books import Books
from heliograph.recovery.group_move import GroupPlace
from heliograph.sync.offset_map import Place


def last_places(books: Books) -> list[GroupPlace]:
    """Where each group goes on that was seen to commit on the source, by its last checkpoint and the whole ledger.

    The ledger may know more by now than when the checkpoint was written, so the offset is translated anew.
    """
    flow = books.flow
    sources = {target: source for source, target in books.targets.items()}
    seen = [item for item in _checkpoints(flow) if item.target in sources]
    places = books.places({(sources[item.target], item.upstream_offset) for item in seen})
    with Admin(access_for(flow.target, "admin")) as admin:
        firsts = admin.earliest_offsets({item.target for item in seen})
        ends = admin.end_offsets({item.target for item in seen})
    return list(_moved(seen, sources, places, firsts, ends))


def _moved(
    seen: list[Checkpoint],
    sources: dict[TopicPartition, TopicPartition],
    places: dict[tuple[TopicPartition, int], Place],
    firsts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> Iterator[GroupPlace]:
    for item in seen:
        source, target = sources[item.target], item.target
        place = places.get((source, item.upstream_offset))
        # What was written down before the ledger began is still better than nothing, and never too late.
        if place is None or not place.is_exact:
            place = Place(max(item.downstream_offset, place.offset if place else 0), False)
        offset = max(firsts[target], min(place.offset, ends[target]))
        yield GroupPlace(item.group, source, item.upstream_offset, target, offset, place.is_exact, item.metadata)


def _checkpoints(flow: FlowConfig) -> list[Checkpoint]:
    """The newest checkpoint of each group and partition."""
    topic = flow.replication_policy.checkpoints_topic(flow.source.alias)
    access = access_for(flow.target, "consumer")
    with Admin(access_for(flow.target, "admin")) as admin:
        if not admin.topics([topic]):
            return []
    return list(newest_checkpoints(reading.read_single(access, topic)).values())
