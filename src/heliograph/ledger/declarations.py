"""Which source offset each sequence number of a writer stands for, as it is written down before a batch leaves.

A lane that writes without transactions declares, for each partition: from this sequence number on my records are
consecutive offsets of the source, beginning with this one. Only a gap in the source needs another anchor. After a crash
the last sequence number that the target has tells how far the lane came, and the declaration which offset that is.
Nothing is counted on the source, which may have been compacted meanwhile, or may be gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

SEQUENCES = 1 << 31  # sequence numbers wrap around to 0 behind the largest signed 32-bit integer


class Writer(NamedTuple):
    """Who writes: a producer id, under one of its epochs. Sequence numbers begin at 0 with every epoch."""

    producer_id: int
    epoch: int


class Anchor(NamedTuple):
    """The record with this sequence number is this offset of the source; the next ones follow without a gap."""

    sequence: int
    offset: int
    leader_epoch: int = -1  # of the source, under which the record was read


@dataclass(frozen=True)
class Declaration:
    """What a writer has declared for one source partition: at least one anchor, in the order of writing."""

    writer: Writer
    topic_id: str
    anchors: tuple[Anchor, ...]

    def with_anchors(self, news: Iterable[Anchor]) -> Declaration:
        """The same with what is declared next."""
        return replace(self, anchors=(*self.anchors, *news))

    def since(self, sequence: int) -> Declaration:
        """The same without what lies before a sequence number, for all of that is flushed."""
        later = [anchor for anchor in self.anchors if self._distance(anchor.sequence) > self._distance(sequence)]
        return replace(self, anchors=(self._anchor_at(sequence), *later))

    def place_of(self, sequence: int) -> Anchor | None:
        """The source offset of a record by its sequence number; None if the writer has not declared it."""
        if self._distance(sequence) < 0:
            return None
        return self._anchor_at(sequence)

    def _anchor_at(self, sequence: int) -> Anchor:
        distance = self._distance(sequence)
        # Of two anchors for one sequence number the later one counts: a gap was found before the first record left.
        last = next(anchor for anchor in reversed(self.anchors) if self._distance(anchor.sequence) <= distance)
        return Anchor(sequence, last.offset + distance - self._distance(last.sequence), last.leader_epoch)

    def _distance(self, sequence: int) -> int:
        """How many records lie between the first anchor and a sequence number, negative if it lies before."""
        distance = (sequence - self.anchors[0].sequence) % SEQUENCES
        return distance if distance < SEQUENCES // 2 else distance - SEQUENCES


# -- the end of a target partition -------------------------------------------------------------------------


class SeenBatch(NamedTuple):
    """A batch on the target, as far as its header tells. Compaction may have taken records out of it."""

    base_offset: int
    last_offset: int
    writer: Writer
    sequence: int  # of its first record; what it has is told by its offsets

    @property
    def next_sequence(self) -> int:
        """The sequence number of the record after it."""
        return (self.sequence + self.last_offset - self.base_offset + 1) % SEQUENCES


class Flush(NamedTuple):
    """How far a partition was when that was last written down, and under whose sequence numbers."""

    next_offset: int  # of the source
    target_offset: int  # of the last record that was appended; -1: there is none
    writer: Writer | None = None  # None: another mirror wrote the position
    next_sequence: int = 0
    leader_epoch: int = -1  # of the source, under which the last record was read


class Doubt(Enum):
    """Why the end of a target partition does not tell for sure how far its writer came."""

    TRUNCATED = "the target has lost what was mirrored to it"
    MISSING = "the target lacks records between others of the same writer"
    REMOVED = "the target has deleted what would tell how far the mirror came"
    UNDECLARED = "the target has records that their writer has not declared"


class Recovered(NamedTuple):
    """How far a partition is, by what its target has; where there is a doubt, how far it is at least."""

    flush: Flush
    doubt: Doubt | None = None


def recover(
    flush: Flush,
    declared: Declaration | None,
    tail: Iterable[SeenBatch],
    bounds: tuple[int, int],
    is_compacted: bool = False,
) -> Recovered:
    """How far a partition is whose last writer did not end well, when nobody can write to it any more.

    `tail` are the batches of the target from the flush on, beginning with the one that the flush ends with; `bounds`
    where its log begins and ends. On a compacted target any batch may be gone but the newest of each writer.
    """
    start = bounds[0]
    batches = list(tail)
    if _is_truncated(flush, batches, bounds, is_compacted):
        return Recovered(flush, Doubt.TRUNCATED)
    expected: int | None = None
    found = flush
    for batch in batches:
        if batch.last_offset <= flush.target_offset or declared is None or batch.writer != declared.writer:
            continue
        if expected is None:
            expected = flush.next_sequence if flush.writer == declared.writer else declared.anchors[0].sequence
        may_lack = is_compacted or start > flush.target_offset + 1
        if batch.sequence != expected and not may_lack:
            return Recovered(found, Doubt.MISSING)
        place = declared.place_of((batch.next_sequence - 1) % SEQUENCES)
        if place is None:
            return Recovered(found, Doubt.UNDECLARED)
        expected = batch.next_sequence
        found = Flush(place.offset + 1, batch.last_offset, declared.writer, expected, place.leader_epoch)
    if expected is None and declared is not None and start > flush.target_offset + 1:
        return Recovered(flush, Doubt.REMOVED)
    return Recovered(found)


def _is_truncated(flush: Flush, batches: list[SeenBatch], bounds: tuple[int, int], is_compacted: bool) -> bool:
    """Whether the target lacks what the flush ends with, and has not deleted it by its own rules."""
    start, end = bounds
    if end <= flush.target_offset:
        return True
    if flush.writer is None or flush.target_offset < start:
        return False
    last = next((batch for batch in batches if batch.last_offset == flush.target_offset), None)
    if last is None:
        return not is_compacted  # whose cleaner may have taken it, when newer records have come
    return last.writer != flush.writer or last.next_sequence != flush.next_sequence
