"""The plain nouns that all parts share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """One partition of one topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class InternalTopics(NamedTuple):
    """The topics on its target in which a flow keeps what it must know; each is small, or is read from its end."""

    offsets: str  # the position of each source partition, under MirrorMaker 2's keys; compacted
    ledger: str  # what each transaction did, until the offset map has it
    offset_map: str  # which offsets of the target stand for which of the source; compacted
    state: str  # whose the flow is, who writes for it, how its tasks are getting on; compacted
    journal: str  # what happened: events, and what operations did
    declarations: (
        str  # who is going to write where without transactions, and what sequence numbers stand for; compacted
    )


@dataclass(frozen=True)
class Position:
    """How far a source partition has been mirrored.

    `offset` is the last source offset that is done, as MirrorMaker 2 counts. The other fields are ours: where its last
    record went, which incarnation of the topic it was read from, the leader epoch of its last batch, and which
    incarnation of the target topic it was written to. A lane that writes without transactions adds who has written it,
    under which epoch, and its next sequence number.
    """

    offset: int
    target_offset: int = -1
    topic_id: str = ""
    leader_epoch: int = -1
    target_topic_id: str = ""
    target_lost_from: int = -1  # the first offset that the target has lost, as long as nothing may be written behind it
    producer_id: int = -1
    producer_epoch: int = -1
    sequence: int = 0


class Run(NamedTuple):
    """`length` records in a row that went from consecutive source offsets to consecutive target offsets."""

    source: int
    target: int
    length: int


class Latency(NamedTuple):
    """How old records were when consumers could read them, in milliseconds."""

    newest: int  # of the newest record
    longest: int
    total: int  # of all records added up


@dataclass(frozen=True)
class PartitionProgress:
    """What one transaction did for one source partition."""

    source: TopicPartition
    target: TopicPartition
    runs: Sequence[Run]
    last_offset: int
    byte_count: int
    newest_timestamp: int
    oldest_timestamp: int = -1
    mean_timestamp: int = -1
    begins_at: int = -1  # the source offset that copying began at, if there was no position before
    dropped: int = 0  # records that a transform left out
    failed: int = 0  # records that could not be transformed; the dead letters have them
    latency: Latency | None = field(default=None, compare=False)  # where records could be read before the commit

    @property
    def record_count(self) -> int:
        """How many records were copied."""
        return sum(run.length for run in self.runs)

    @property
    def is_elsewhere(self) -> bool:
        """Whether a transform has sent records to a partition of another number."""
        return self.target.partition != self.source.partition


class EventKind(Enum):
    """What can happen to a partition beside being copied."""

    RETENTION = "retention"  # the source deleted records before they were mirrored
    TRUNCATION = "truncation"  # the source lost records that it had: those mirrored from there are no longer its own
    RECREATED = "recreated"  # another topic of the same name has taken the place of the old one
    TARGET_LOSS = "target-loss"  # the target lost records that had been mirrored; the offsets are the target's
    SET_ASIDE = "set-aside"  # the partition cannot go on for now
    RESUMED = "resumed"  # it goes on again
    MISMATCH = "mismatch"  # what was mirrored is not what the source has
    REPEATED = "repeated"  # nobody can tell how far an earlier lane came: records may be on the target twice
    DEAD_LETTERS = "dead-letters"  # records could not be transformed, and went to the dead letters


@dataclass(frozen=True)
class Event:
    """Something that happened to a partition, with the source offsets that it concerns: from, up to and without to."""

    kind: EventKind
    source: TopicPartition
    from_offset: int
    to_offset: int
    reason: str
    at_ms: int = field(default=0, compare=False)  # when it was written down, where that is known

    def __str__(self) -> str:
        return f"{self.source}: {self.kind.value}: {self.reason}"


@dataclass(frozen=True)
class LedgerEntry:
    """One transaction of one lane: what was copied, when, by whom, and what else happened."""

    flow: str
    lane: int
    owner: str
    producer_id: int
    written_at_ms: int
    partitions: Sequence[PartitionProgress] = ()
    events: Sequence[Event] = ()
    committed_at_ms: int = 0  # when it was known to be committed; not in the ledger, which is written before

    @property
    def record_count(self) -> int:
        """How many records the transaction copied."""
        return sum(progress.record_count for progress in self.partitions)

    def own_progress(self) -> list[PartitionProgress]:
        """What went to the own target of each source partition, which comes first; the rest was sent elsewhere."""
        return list({progress.source: progress for progress in reversed(self.partitions)}.values())[::-1]


@dataclass(frozen=True)
class ChoreState:
    """How a periodic task of a flow is getting on; `failure` says why it fails at present."""

    name: str
    seconds: float
    last_success_ms: int
    failure: str
    failing_since_ms: int
    summary: str


@dataclass(frozen=True)
class SourceSight:
    """How far a source was last seen to reach: the ends of all partitions that were not mirrored to their end."""

    at_ms: int
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class OperationNote:
    """One line of the journal of a switchover, failover or failback."""

    operation: str
    id: str
    step: str  # empty: of the whole operation
    state: str  # began, done, failed, undone
    text: str
    by: str
    at_ms: int


@dataclass(frozen=True)
class Assignment:
    """One source partition that a lane copies, and where to."""

    source: TopicPartition
    target: TopicPartition
    max_batch_bytes: int = 1024 * 1024 + 12
    remote_topic: str = ""  # what the policy calls the topic on the target, before transforms; empty: as it is called


@dataclass(frozen=True)
class LeftOut:
    """What of a topic a flow does not pass on, because its target has it, or gets it by another way."""

    flows: frozenset[InternalTopics] = frozenset()  # on the source: of the flows that wrote it there
    header: str = ""  # a header that names the cluster which a record came from
    origins: frozenset[str] = frozenset()  # those clusters


class Ending(NamedTuple):
    """One transaction whose end is decided, while not all partitions know it: no other one has the same values."""

    producer_id: int
    epoch: int
    begun_at_ms: int
    state: str


@dataclass(frozen=True)
class LanePlan:
    """All that one lane needs to know for one epoch."""

    flow: str
    lane: int
    owner: str
    deal: int  # which lanes belong together: a number that the owner never uses again
    transactional_ids: Sequence[str]  # which write in turns
    topics: InternalTopics
    assignments: Sequence[Assignment]
    positions: Mapping[TopicPartition, Position] = field(default_factory=dict)
    offsets_read_to: Mapping[int, int] = field(default_factory=dict)
    state_read_to: int = 0
    set_aside: Mapping[TopicPartition, str] = field(default_factory=dict)  # known before, with reasons
    announced: frozenset[int] = frozenset()  # producer ids that are written down already
    left_out: Mapping[str, LeftOut] = field(default_factory=dict)  # by topic of the source
    writes_elsewhere: bool = False  # records may also go to other partitions than the targets of the assignments
    added: frozenset[TopicPartition] = frozenset()  # to topics of the source that were mirrored already
    spare_ids: Sequence[str] = ()  # transactional ids to write under while others are busy
    gate_id: str = ""  # the transactional id whose owner alone may write under all the others
    endings: Mapping[str, Ending] = field(default_factory=dict)  # what transactional ids have been busy with for long
    name: str = ""  # of the lane for ever: what the names of its ids begin with
