"""What the groups of a source had committed, as last seen: for the day when the source cannot be asked."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.config.flow import FlowConfig
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.checkpoint import Checkpoint, newest_checkpoints
from heliograph.ledger.offset_map import Place
from heliograph.model import TopicPartition
from heliograph.recovery.books import Books
from heliograph.recovery.group_move import GroupPlace


def last_places(books: Books) -> list[GroupPlace]:
    """Where each group goes on that was seen to commit on the source, by its last checkpoint and the whole ledger.

    The ledger may know more by now than when the checkpoint was written, so the offset is translated anew.
    """
    flow = books.flow
    sources = {target: source for source, target in books.targets.items()}
    seen = [item for item in _checkpoints(flow) if item.target in sources]
    places = books.places({(sources[item.target], item.upstream_offset) for item in seen})
    wanted = {item.target for item in seen} | {target for found in places.values() for target in found}
    with Admin(access_for(flow.target, "admin")) as admin:
        existing = admin.topics({where.topic for where in wanted})
        wanted = {
            where for where in wanted if where.topic in existing and where.partition < existing[where.topic].partitions
        }
        firsts, ends = admin.earliest_offsets(wanted), admin.end_offsets(wanted)
    return [place for place in _moved(seen, sources, places, firsts, ends) if place.target in wanted]


def _moved(
    seen: list[Checkpoint],
    sources: dict[TopicPartition, TopicPartition],
    places: dict[tuple[TopicPartition, int], dict[TopicPartition, Place]],
    firsts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> Iterator[GroupPlace]:
    for item in seen:
        source = sources[item.target]
        found = places.get((source, item.upstream_offset), {})
        own = found.get(item.target)
        # What was written down before the ledger began is still better than nothing, and never too late.
        if own is None or not own.is_exact:
            own = Place(max(item.downstream_offset, own.offset if own else 0), False)
        for target, place in (found | {item.target: own}).items():
            offset = max(firsts.get(target, 0), min(place.offset, ends.get(target, 0)))
            yield GroupPlace(item.group, source, item.upstream_offset, target, offset, place.is_exact, item.metadata)


def _checkpoints(flow: FlowConfig) -> list[Checkpoint]:
    """The newest checkpoint of each group and partition."""
    topic = flow.replication_policy.checkpoints_topic(flow.source.alias)
    access = access_for(flow.target, "consumer")
    with Admin(access_for(flow.target, "admin")) as admin:
        if not admin.topics([topic]):
            return []
    return list(newest_checkpoints(reading.read_single(access, topic)).values())
