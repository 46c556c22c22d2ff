"""The plain nouns that all parts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class Position:
    """How far a source partition has been mirrored.

    `offset` is the last source offset that is done, as MirrorMaker 2 counts. The other fields are ours: where its last
    record went, which incarnation of the topic it was read from, and the leader epoch of its last batch.
    """

    offset: int
    target_offset: int = -1
    topic_id: str = ""
    leader_epoch: int = -1


class Run(NamedTuple):
    """`length` records in a row that went from consecutive source offsets to consecutive target offsets."""

    source: int
    target: int
    length: int


@dataclass(frozen=True)
class PartitionProgress:
    """What one transaction did for one source partition."""

    source: TopicPartition
    target: TopicPartition
    runs: Sequence[Run]
    last_offset: int
    byte_count: int
    newest_timestamp: int

    @property
    def record_count(self) -> int:
        """How many records were copied."""
        return sum(run.length for run in self.runs)


@dataclass(frozen=True)
class LedgerEntry:
    """One transaction of one lane: what was copied, when, by whom."""

    flow: str
    lane: int
    owner: str
    producer_id: int
    written_at_ms: int
    partitions: Sequence[PartitionProgress] = ()

    @property
    def record_count(self) -> int:
        """How many records the transaction copied."""
        return sum(progress.record_count for progress in self.partitions)


@dataclass(frozen=True)
class Assignment:
    """One source partition that a lane copies, and where to."""

    source: TopicPartition
    target: TopicPartition


@dataclass(frozen=True)
class LanePlan:
    """All that one lane needs to know for one epoch."""

    flow: str
    lane: int
    owner: str
    transactional_id: str
    offsets_topic: str
    ledger_topic: str
    assignments: Sequence[Assignment]
    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    offsets_read_to: Mapping[int, int] = field(default_factory=dict)
    ledger_read_to: int = 0
