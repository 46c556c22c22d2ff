"""Lets a batch leave only when the books say which source offsets its sequence numbers stand for.

As long as the source has no gaps, nothing needs to be said: what was declared first goes on. One request covers all
gaps that were found meanwhile. The gate also keeps the tail short that would have to be read after a crash, and lets no
batch overtake one that brokers might refuse because they have forgotten its writer.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from heliograph.engine.lease import Lease
from heliograph.engine.outgoing import Outgoing, Queued, TargetPartition
from heliograph.ledger.declarations import Anchor, Declaration, Flush, Row, Writer, is_far, next_anchors
from heliograph.ledger.notes import Note
from heliograph.model import TopicPartition

WriteNotes = Callable[[Sequence[Note], Callable[[], None]], None]

# Brokers forget a producer when the newest record that it wrote is older than `producer.id.expiration.ms`, a day if
# nobody has changed that; half of it leaves room for clocks that differ.
_YOUNG_MS = 12 * 60 * 60 * 1000
_LONGEST_TAIL_SECONDS = 10.0
_LONGEST_TAIL_BYTES = 64 * 1024 * 1024
_WORTH_A_FLUSH_BYTES = 16 * 1024 * 1024
_WORTH_A_FLUSH_ANCHORS = 2_000


@dataclass
class Declared:
    """What is declared for a source partition."""

    source: TopicPartition
    target: TargetPartition
    topic_id: str
    base: Flush
    seen: int
    following: Anchor  # what would follow without a gap
    anchors: list[Anchor]
    flushed: int | None = None  # the sequence number before which everything is flushed
    must_tell: bool = False
    queued: int = 0  # batches
    released: int = 0  # of them, to leave when it is their turn
    gaps: deque[int] = field(default_factory=deque)  # which of the batches wait for a declaration


@dataclass
class _Tail:
    """What was sent since how far partitions are was last written down."""

    bytes: int = 0
    since: float = math.inf

    def add(self, size: int) -> None:
        self.bytes += size
        self.since = min(self.since, time.monotonic())

    @property
    def is_too_long(self) -> bool:
        return self.bytes > _LONGEST_TAIL_BYTES or time.monotonic() - self.since > _LONGEST_TAIL_SECONDS


@dataclass
class _Tails:
    """Both: what the flush that is under way does not cover, and what it does."""

    later: _Tail = field(default_factory=_Tail)
    flushing: _Tail = field(default_factory=_Tail)


class Declaring:
    """The gate of one session."""

    def __init__(self, lane: str, name: str, writer: Writer, lease: Lease, write: WriteNotes) -> None:
        self._lane = lane
        self._name = name
        self._writer = writer
        self._lease = lease
        self._write = write
        self._declared: dict[TopicPartition, Declared] = {}
        self._wanting: set[TopicPartition] = set()
        self._is_writing = False
        self._tails = _Tails()
        self._anchors = 0
        self.unwritten: set[TopicPartition] = set()  # of which a position must be written before anything leaves

    # -- asked by `Outgoing` -------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        """Whether the tail is short enough; raises if the id may not be ours any more."""
        if self.unwritten or self._tails.later.is_too_long or self._tails.flushing.is_too_long:
            return False
        self._lease.check()
        return True

    def admit(self, target: TargetPartition, batch: Queued) -> bool:
        """Only what follows what is declared; the rest waits until it is declared, too."""
        known = self._declared[batch.source]
        rows = (Row(offset, length, batch.leader_epoch) for offset, length in batch.pieces)
        anchors, known.following = next_anchors(known.following, rows)
        number, known.queued = known.queued, known.queued + 1
        if anchors or known.must_tell:
            known.must_tell = False
            known.anchors.extend(anchors)
            known.gaps.append(number)
            self._anchors += len(anchors)
            self._wanting.add(batch.source)
        if known.gaps:
            return False
        known.released += 1
        return True

    def may_follow(self, target: TargetPartition) -> bool:
        """Not before the first one is taken, and not where brokers may forget by age what they have taken."""
        oldest = int(time.time() * 1000) - _YOUNG_MS
        last = target.acknowledged
        return last is not None and last.newest_ms > oldest and all(newest > oldest for newest in target.in_flight)

    def sent(self, size: int) -> None:
        """The tail grows."""
        self._tails.later.add(size)

    # -- declarations --------------------------------------------------------------------------------------------

    def begin(self, known: Declared) -> Note:
        """What has to be written down before anything of a partition leaves."""
        self._declared[known.source] = known
        return self._note(known)

    def notes(self) -> list[Note]:
        """All that are ours."""
        return [self._note(known) for known in self._declared.values()]

    def go_on_at(self, source: TopicPartition, topic_id: str, offset: int) -> None:
        """A partition goes on at another place; all before it is flushed."""
        known = self._declared[source]
        known.topic_id = topic_id
        known.following = Anchor(known.following.sequence, offset)
        known.anchors = [known.following]
        known.must_tell = True

    def declare(self, outgoing: Outgoing) -> None:
        """Write down all gaps that batches wait for; what is found meanwhile is for the next time."""
        if not self._wanting or self._is_writing:
            return
        self._lease.check()
        told = [self._declared[source] for source in self._wanting]
        self._wanting.clear()
        self._is_writing = True
        covered = [(known, len(known.gaps)) for known in told]
        self._write([self._note(known) for known in told], partial(self._told, outgoing, covered))

    def _told(self, outgoing: Outgoing, covered: Sequence[tuple[Declared, int]]) -> None:
        """Whatever lies before the next gap may leave."""
        self._is_writing = False
        for known, count in covered:
            for _ in range(count):
                known.gaps.popleft()
            end = known.gaps[0] if known.gaps else known.queued
            outgoing.release(known.target, end - known.released)
            known.released = end

    def _note(self, known: Declared) -> Note:
        declaration = Declaration(self._writer, known.topic_id, tuple(known.anchors))
        if known.flushed is not None:
            declaration = declaration.since(known.flushed)
            self._anchors -= len(known.anchors) - len(declaration.anchors)
            known.anchors = list(declaration.anchors)
        return Note(known.source, known.target.name, self._lane, self._name, declaration, known.base, known.seen)

    # -- flushes -------------------------------------------------------------------------------------------------

    @property
    def wants_flush(self) -> bool:
        """Whether so much is sent, or declared, that it should be written down how far partitions are."""
        return self._tails.later.bytes > _WORTH_A_FLUSH_BYTES or self._anchors > _WORTH_A_FLUSH_ANCHORS

    def flush_begun(self) -> None:
        """What was sent up to now is being written down."""
        self._tails = _Tails(flushing=self._tails.later)

    def flushed(self, sequences: dict[TopicPartition, int]) -> None:
        """It is written down that everything before these sequence numbers is done."""
        self._tails.flushing = _Tail()
        for source, sequence in sequences.items():
            known = self._declared[source]
            known.flushed = sequence
            self.unwritten.discard(source)
            if is_far(known.anchors[0].sequence, sequence):
                self._wanting.add(source)
