"""Which offsets of a source partition became which offsets of its target, from what is written down; pure logic.

A *chapter* is a time without a break: within it all records of the source, in order, are all records of the target, in
order. A break is where that ends: the source's log was cut back or replaced, the target was created anew, or the mirror
was told to go back: what it copies again takes the place of earlier copies. A *segment* is the part of a chapter that
both logs still have.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.ledger.offset_map import BREAK, GAP_KINDS, THINNED, PartitionMap
from heliograph.ledger.pages import Noted
from heliograph.model import Event, EventKind, Run

_BREAKS = (EventKind.RECREATED, EventKind.TRUNCATION)


class Pair(NamedTuple):
    """A place on both sides: all that lies before it on one side lies before it on the other."""

    source: int
    target: int


class Bounds(NamedTuple):
    """What a log has: offsets from `first` up to and without `end`; readers see it up to `stable`."""

    first: int
    end: int
    stable: int


class Segment(NamedTuple):
    """A part of both logs that should hold the same records, and about how many bytes of the source's log it is."""

    begin: Pair
    end: Pair
    bytes: int


@dataclass
class Coverage:
    """What of a partition can be compared, and what cannot, in words."""

    segments: list[Segment] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    waiting: int = 0  # offsets of the source that are not mirrored yet


class Chapter:
    """Rows of consecutive records on both sides, in compact arrays, and how far the source was done."""

    def __init__(self, begin: int | None = None) -> None:
        self.begin = begin  # the source's offset from which on all was mirrored; none: where the first run begins
        self.done = 0 if begin is None else begin
        self._sources, self._targets = array("q"), array("q")
        self._lengths, self._bytes = array("q"), array("q")

    def __bool__(self) -> bool:
        return bool(self._sources)

    def append(self, run: Run, size: int) -> None:
        """Take in records that were copied, and about how many bytes they are."""
        if self and (run.source, run.target) == self.end_of_runs:
            self._lengths[-1] += run.length
            self._bytes[-1] += size
        else:
            for column, value in zip(self._columns, (*run, size), strict=True):
                column.append(value)
        self.done = max(self.done, run.source + run.length)

    @property
    def _columns(self) -> tuple[array[int], ...]:
        return self._sources, self._targets, self._lengths, self._bytes

    @property
    def first_run(self) -> Pair:
        """Where the first record went."""
        return Pair(self._sources[0], self._targets[0])

    @property
    def end_of_runs(self) -> Pair:
        """Behind the last record."""
        return Pair(self._sources[-1] + self._lengths[-1], self._targets[-1] + self._lengths[-1])

    @property
    def whole(self) -> tuple[Pair, Pair]:
        """From its begin to its end."""
        first = self.first_run
        begin = first if self.begin is None else Pair(min(self.begin, first.source), first.target)
        return begin, Pair(self.done, self.end_of_runs.target)

    def cut(self, source: int) -> None:
        """Forget what was copied from a source offset on."""
        keep = bisect_left(self._sources, source)
        for column in self._columns:
            del column[keep:]
        self.done = min(self.done, source)
        if keep and (length := source - self._sources[-1]) < self._lengths[-1]:
            self._bytes[-1] = self._bytes[-1] * length // self._lengths[-1]
            self._lengths[-1] = length

    def at_source(self, offset: int) -> Pair:
        """The place of a source offset: right behind the last record before it, so that no stranger is passed over."""
        index = bisect_left(self._sources, offset) - 1
        if index < 0:
            return Pair(offset, self._targets[0])
        return Pair(offset, self._targets[index] + min(offset - self._sources[index], self._lengths[index]))

    def at_target(self, offset: int) -> Pair:
        """The place of a target offset: right behind the last record before it."""
        index = bisect_left(self._targets, offset) - 1
        if index < 0:
            return Pair(self._sources[0], offset)
        return Pair(self._sources[index] + min(offset - self._targets[index], self._lengths[index]), offset)

    def slices(self, begin: Pair, end: Pair, size: int) -> Iterator[Segment]:
        """The chapter between two places, in parts of about so many bytes."""
        at, weight = begin, 0
        for index in range(max(0, bisect_right(self._sources, begin.source) - 1), len(self._sources)):
            source, target, length, total = (column[index] for column in self._columns)
            first, last = max(source, begin.source), min(source + length, end.source)
            while first < last:
                wanted = max(1, (size - weight) * length // max(1, total))
                step = min(wanted, last - first)
                first, weight = first + step, weight + total * step // length
                if weight >= size and first < end.source:
                    place = Pair(first, target + first - source)
                    yield Segment(at, place, weight)
                    at, weight = place, 0
        if at.source < end.source or at.target < end.target:
            yield Segment(at, end, weight)


class PartitionHistory:
    """All chapters of one source partition, by its part of the offset map."""

    def __init__(
        self, known: PartitionMap, begins_at_start: bool, bytes_per_record: float = 1.0, events: Iterable[Event] = ()
    ) -> None:
        """`events`: what has happened to the partition, as far as the journal still tells."""
        self.target = known.target
        self.chapters = [Chapter()]
        self.notes: list[str] = []
        self._bytes_per_record = bytes_per_record
        told = [self._told(event) for event in events if event.kind in _BREAKS]
        cuts = [cut for cut in told if cut is not None]
        for noted in known.runs():
            self._append(
                noted, begins_at_start and (known.begins_here or noted.run.target == 0), set(filter(None, cuts))
            )
        self.chapters[-1].done = max(self.chapters[-1].done, known.next_source)

    @property
    def done(self) -> int:
        """Up to and without which source offset all is mirrored, as far as is written down."""
        return self.chapters[-1].done

    def _told(self, event: Event) -> int | None:
        """Say what is not compared because of an event; where a log was cut back, if that is known."""
        if event.kind is EventKind.RECREATED:
            self._note("what was mirrored from an earlier topic of that name")
        elif event.from_offset < event.to_offset:
            self._note(f"offsets {event.from_offset} to {event.to_offset - 1} as they were before the source lost them")
            return event.from_offset
        else:
            self._note("what was mirrored before the source's log was written anew")
        return None

    def _append(self, noted: Noted, is_start: bool, cuts: Collection[int]) -> None:
        run, gap = noted
        last = self.chapters[-1]
        if gap & BREAK:
            end = last.end_of_runs.source if last else run.source
            if not any(end <= cut <= run.source for cut in cuts):
                self._note(
                    f"earlier copies of what was mirrored again, or to an earlier target, from offset {run.source}"
                )
            self.chapters.append(Chapter(end if last else None))
        elif gap & GAP_KINDS == THINNED and last:
            end = last.end_of_runs.source
            self._note(f"offsets {end} to {run.source - 1}: it is no longer written down where each of them went")
            self.chapters.append(Chapter(run.source))
        elif is_start and not last:
            self.chapters = [Chapter(0)]
        self.chapters[-1].append(run, int(run.length * self._bytes_per_record))

    @property
    def target_end(self) -> int:
        """Behind the last record on the target."""
        return max((chapter.end_of_runs.target for chapter in self.chapters if chapter), default=0)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def coverage(self, source: Bounds, target: Bounds, start: int, size: int) -> Coverage:
        """What both logs still have, from a source offset on, in parts of about so many bytes."""
        found = Coverage(left_out=list(self.notes), waiting=max(0, source.stable - max(self.done, source.first)))
        removed = {"source": 0, "target": 0}
        for chapter in filter(None, self.chapters):
            begin, whole_end = chapter.whole
            first = max(begin, _at_least(chapter, begin, start, 0))
            kept = max(first, _at_least(chapter, begin, source.first, target.first))
            end, note = _readable_end(chapter, whole_end, source, target)
            if note and kept.source < whole_end.source:
                found.left_out.append(note)
            if (lost := min(kept.source, end.source) - first.source) > 0:
                removed["source" if source.first >= kept.source else "target"] += lost
            if kept.source < end.source:
                found.segments += [_within(part, target.end) for part in chapter.slices(kept, end, size)]
        found.left_out += [f"{n:,} offsets that the {side} no longer has" for side, n in removed.items() if n]
        found.left_out += self._before_the_ledger(source.first, start)
        return found

    def _before_the_ledger(self, source_first: int, start: int) -> list[str]:
        first = next((chapter for chapter in self.chapters if chapter), None)
        begin = first.whole[0].source if first else self.done
        earlier = begin - max(source_first, start)
        if earlier <= 0 or first is not self.chapters[0]:
            return []
        return [f"{earlier:,} offsets before {begin}: it is not written down whether and where to they were mirrored"]


def _readable_end(chapter: Chapter, end: Pair, source: Bounds, target: Bounds) -> tuple[Pair, str]:
    """The end of what can be read of a chapter, and why it is not all; what the target has lost is a difference."""
    if source.end < end.source:
        note = f"offsets {source.end} to {end.source - 1}, which the source has lost since they were mirrored"
        return chapter.at_source(source.end), note
    if target.stable < end.target <= target.end:
        place = chapter.at_target(target.stable)
        return place, f"offsets {place.source} to {end.source - 1}, which an open transaction on the target hides"
    return end, ""


def _within(part: Segment, target_end: int) -> Segment:
    begin = Pair(part.begin.source, min(part.begin.target, target_end))
    return Segment(begin, Pair(part.end.source, min(part.end.target, target_end)), part.bytes)


def _at_least(chapter: Chapter, begin: Pair, source: int, target: int) -> Pair:
    """The first place that lies neither before one offset of the source nor before one of the target."""
    by_source = chapter.at_source(source) if source > begin.source else begin
    by_target = chapter.at_target(target) if target > by_source.target else by_source
    return max(by_source, by_target)
