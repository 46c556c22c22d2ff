"""How many records the target is behind the source, from what both clusters say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import Position, TopicPartition


class Method(Enum):
    """What a lag was computed from, most exact first."""

    POSITIONS = "positions"  # the mirror's own positions on the target
    SYNCS = "syncs"  # MirrorMaker 2's newest offset sync, and how far the target has grown since
    ENDS = "ends"  # nothing but the end offsets of both sides
    ABSENT = "absent"  # the target has no such partition, so that nothing is mirrored


@dataclass(frozen=True)
class PartitionFacts:
    """What both clusters say of one partition: offsets from `start` up to and without `end` are on the source."""

    source: TopicPartition
    start: int
    end: int
    target_end: int | None = None  # None: the partition does not exist
    position: Position | None = None
    sync: OffsetSync | None = None
    topic_id: str = ""


@dataclass(frozen=True)
class PartitionLag:
    """One source partition: the offset that is mirrored next, and what is still to come."""

    partition: int
    next_offset: int
    start: int
    end: int
    method: Method

    @property
    def lag_records(self) -> int:
        """Offsets that the source has and the target lacks; never negative."""
        return max(0, self.end - max(self.next_offset, self.start))


@dataclass(frozen=True)
class TopicLag:
    """One source topic; `unreadable` are the partitions that nobody could say anything about."""

    topic: str
    target_topic: str
    partitions: Sequence[PartitionLag]
    unreadable: Sequence[int] = ()

    @property
    def lag_records(self) -> int | None:
        """Over all partitions; None when not all could be read."""
        return None if self.unreadable else sum(item.lag_records for item in self.partitions)

    @property
    def method(self) -> Method | None:
        """The least exact method of the partitions that hold records; None when none does."""
        order = list(Method)
        used = [item.method for item in self.partitions if item.end > item.start]
        return max(used, key=order.index, default=None)


def partition_lag(facts: PartitionFacts) -> PartitionLag:
    """The lag of one partition, by the most exact method that the facts allow."""
    method, next_offset = _next_offset(facts)
    return PartitionLag(facts.source.partition, next_offset, facts.start, facts.end, method)


def is_exact(position: Position) -> bool:
    """Whether a position was written together with the data; MirrorMaker 2 writes its own up to a minute later."""
    return position.target_offset >= 0 or bool(position.topic_id)


def _next_offset(facts: PartitionFacts) -> tuple[Method, int]:
    if facts.target_end is None:
        return Method.ABSENT, facts.start
    position = _valid_position(facts)
    known = -1 if position is None else position.offset + 1
    synced = _synced_offset(facts, facts.target_end)
    if synced > known and not (position and is_exact(position)):
        return Method.SYNCS, synced
    return (Method.ENDS, facts.target_end) if position is None else (Method.POSITIONS, known)


def _valid_position(facts: PartitionFacts) -> Position | None:
    """None for a position in an earlier topic of the same name, or in a log that was cut since."""
    position = facts.position
    if position is None or position.offset >= facts.end:
        return None
    is_other_topic = position.topic_id and facts.topic_id and position.topic_id != facts.topic_id
    return None if is_other_topic else position


def _synced_offset(facts: PartitionFacts, target_end: int) -> int:
    """Source and target grow side by side after a sync: MirrorMaker 2 writes a new one at every gap. -1: unknown."""
    sync = facts.sync
    if sync is None or sync.upstream_offset >= facts.end or sync.downstream_offset >= target_end:
        return -1
    return min(facts.end, sync.upstream_offset + target_end - sync.downstream_offset)
