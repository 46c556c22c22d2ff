"""Which source offset each sequence number of a writer stands for, as it is written down before a batch leaves.

A lane that writes without transactions declares, for each partition: from this sequence number on my records are
consecutive offsets of the source, beginning with this one. Only a gap in the source needs another anchor. After a crash
the last sequence number that the target has tells how far the lane came, and the declaration which offset that is.
Nothing is counted on the source, which may have been compacted meanwhile, or may be gone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from heliograph.ledger.runs import add_run
from heliograph.model import Run

SEQUENCES = 1 << 31  # sequence numbers wrap around to 0 behind the largest signed 32-bit integer
_FAR = SEQUENCES // 4


class Writer(NamedTuple):
    """Who writes: a producer id, under one of its epochs. Sequence numbers begin at 0 with every epoch."""

    producer_id: int
    epoch: int


class Anchor(NamedTuple):
    """The record with this sequence number is this offset of the source; the next ones follow without a gap."""

    sequence: int
    offset: int
    leader_epoch: int = -1  # of the source, under which the record was read


class Row(NamedTuple):
    """Records at consecutive offsets of the source, as they are about to leave."""

    offset: int
    length: int
    leader_epoch: int = -1


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

    def rows(self, sequence: int, count: int) -> Iterator[Row]:
        """Where so many records from a sequence number on come from; nothing for what was not declared."""
        while count and (place := self.place_of(sequence)) is not None:
            distance = self._distance(sequence)
            following = bisect_right(self._distances, distance)
            length = count
            if following < len(self._distances):
                length = min(count, self._distances[following] - distance)
            yield Row(place.offset, length, place.leader_epoch)
            sequence, count = (sequence + length) % SEQUENCES, count - length

    def _anchor_at(self, sequence: int) -> Anchor:
        """Of two anchors for one sequence number the later one counts: a gap was found before the first record left."""
        distance = self._distance(sequence)
        number = bisect_right(self._distances, distance) - 1
        last = self.anchors[number]
        return Anchor(sequence, last.offset + distance - self._distances[number], last.leader_epoch)

    @cached_property
    def _distances(self) -> list[int]:
        return [self._distance(anchor.sequence) for anchor in self.anchors]

    def _distance(self, sequence: int) -> int:
        """How many records lie between the first anchor and a sequence number, negative if it lies before."""
        distance = (sequence - self.anchors[0].sequence) % SEQUENCES
        return distance if distance < SEQUENCES // 2 else distance - SEQUENCES


def is_far(first: int, sequence: int) -> bool:
    """Whether a sequence number is so far behind a first anchor that it must be declared where the rest begins.

    They wrap around, so only those that are less than half of all away can be told from earlier ones.
    """
    return (sequence - first) % SEQUENCES >= _FAR


def next_anchors(following: Anchor, rows: Iterable[Row]) -> tuple[list[Anchor], Anchor]:
    """What has to be declared before these rows leave, and what would follow them without a gap.

    `following` is what would follow what was sent before.
    """
    anchors: list[Anchor] = []
    for row in rows:
        here = Anchor(following.sequence, row.offset, row.leader_epoch)
        if here != following:
            anchors.append(here)
        following = Anchor((here.sequence + row.length) % SEQUENCES, row.offset + row.length, row.leader_epoch)
    return anchors, following


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


def recovered_runs(flush: Flush, declared: Declaration, tail: Iterable[SeenBatch]) -> list[Run]:
    """What lies on the target behind a flush, by what its writer has declared: for the ledger.

    Parts of it may have been written there already, by a session that has ended before it wrote its position.
    """
    runs: list[Run] = []
    for batch in tail:
        if batch.last_offset <= flush.target_offset or batch.writer != declared.writer:
            continue
        target = batch.base_offset
        for row in declared.rows(batch.sequence, batch.last_offset - batch.base_offset + 1):
            add_run(runs, row.offset, target, row.length)
            target += row.length
    return runs


def _is_truncated(flush: Flush, batches: list[SeenBatch], bounds: tuple[int, int], is_compacted: bool) -> bool:
    """Whether the target lacks what the flush ends with, and has not deleted it by its own rules."""
    start, end = bounds
    if end <= flush.target_offset:
        return True
    if flush.writer is None or not flush.next_sequence or flush.target_offset < start:
        return False  # nothing of ours ends there, or nobody can look any more
    last = next((batch for batch in batches if batch.last_offset == flush.target_offset), None)
    if last is None:
        return not is_compacted  # whose cleaner may have taken it, when newer records have come
    return last.writer != flush.writer or last.next_sequence != flush.next_sequence
