"""Which offset of the target stands for an offset of the source, and the other way round, from what the ledger tells.

An offset here is what consumers commit: the next record to read. The answer is the place of the first record at or
after it. Where that is not known for sure the answer is an earlier place, never a later one, and says so.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from typing import NamedTuple

from heliograph.model import (
    Event,
    EventKind,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    TopicPartition,
)

RUNS_PER_PARTITION = 20_000
_UNKNOWN = -1
# What is known of the gap before a run: all of it was passed over; or others may have mirrored it, beginning at the end
# of the run before, or even that is not sure.
_CLOSED, _OPEN, _VAGUE = range(3)
_MARKER = 1  # a transaction ends with one record that no consumer sees, but that its position moves past


class Place(NamedTuple):
    """An offset on the other side; exact if whoever goes on there neither misses nor repeats a record."""

    offset: int
    is_exact: bool


class OffsetMap:
    """The runs of all partitions of a flow, or only of some, fed with the ledger's entries in their order."""

    def __init__(self, runs_per_partition: int = RUNS_PER_PARTITION) -> None:
        self.only: Collection[TopicPartition] | None = None  # what goes in, if not all
        self._limit = runs_per_partition
        self._partitions: dict[TopicPartition, PartitionMap] = {}
        self._elsewhere: dict[TopicPartition, dict[TopicPartition, PartitionMap]] = {}  # what transforms sent astray
        self._positions: dict[TopicPartition, Position] = {}
        self._replaced: set[TopicPartition] = set()

    def add(self, entry: LedgerEntry) -> None:
        """Take in one transaction."""
        for event in entry.events:
            for known in self._maps(event.source):
                known.happened(event)
        seen: set[TopicPartition] = set()
        for progress in entry.partitions:
            if self.only is not None and progress.source not in self.only:
                continue
            if progress.source in seen:
                self._add_elsewhere(progress)
            else:
                seen.add(progress.source)
                self._add_own(progress)

    def _add_own(self, progress: PartitionProgress) -> None:
        """What went to the partition's own target, which comes first; nothing of it went elsewhere, as far as told."""
        known = self._partitions.get(progress.source)
        if known is None or known.target != progress.target:
            known = self._partitions[progress.source] = PartitionMap(progress.target, self._limit)
        known.add(progress)
        for other in self._elsewhere.get(progress.source, {}).values():
            other.passed_over(progress.last_offset)

    def _add_elsewhere(self, progress: PartitionProgress) -> None:
        others = self._elsewhere.setdefault(progress.source, {})
        known = others.get(progress.target)
        if known is None:
            known = others[progress.target] = PartitionMap(progress.target, self._limit)
            known.begin_like(self._partitions[progress.source])
        known.add(progress)

    def _maps(self, source: TopicPartition) -> list[PartitionMap]:
        own = [self._partitions[source]] if source in self._partitions else []
        return [*own, *self._elsewhere.get(source, {}).values()]

    def owner_changed(self) -> None:
        """Another mirror takes over; before it, MirrorMaker 2 may have copied records that the ledger tells not of."""
        for source in self._partitions:
            for known in self._maps(source):
                known.owner_changed()

    def set_position(self, source: TopicPartition, position: Position, is_of_current_topic: bool = True) -> None:
        """Take in a position, which outlives the ledger's entries; one that was read before the ledger was.

        It may have been reached in a topic that another one of the same name has replaced since.
        """
        self._positions[source] = position
        if is_of_current_topic:
            self._replaced.discard(source)
        else:
            self._replaced.add(source)

    def to_target(self, source: TopicPartition, offset: int) -> Place | None:
        """The place on the target for an offset of a source partition; None if nothing is known of it."""
        known, position = self._partitions.get(source), self._positions.get(source)
        if source in self._replaced:
            return Place(self._positions[source].target_offset + 1, False)
        if position is None or not _leads_further(position, known):
            return None if known is None else known.to_target(offset)
        if offset > position.offset:
            return Place(position.target_offset + 1, offset == position.offset + 1)
        return Place(0, False) if known is None else known.to_target(offset)

    def to_targets_elsewhere(self, source: TopicPartition, offset: int) -> dict[TopicPartition, Place]:
        """The places for an offset of a source partition on all other partitions that its records were sent to."""
        return {target: known.to_target(offset) for target, known in self._elsewhere.get(source, {}).items()}

    def to_source(self, source: TopicPartition, target_offset: int) -> Place | None:
        """The place in a source partition for an offset of its target; None if nothing is known of it."""
        known, position = self._partitions.get(source), self._positions.get(source)
        if source in self._replaced:
            return Place(0, False)
        if position is None or not _leads_further(position, known):
            return None if known is None else known.to_source(target_offset)
        if target_offset > position.target_offset:
            return Place(position.offset + 1, target_offset <= position.target_offset + 1 + _MARKER)
        return Place(0, False) if known is None else known.to_source(target_offset)

    def passed_on_target(self, source: TopicPartition, offset: int) -> int:
        """Every record before an offset of the source lies before this offset on the target."""
        known, position = self._partitions.get(source), self._positions.get(source)
        if position is not None and offset > (known.next_source if known else 0) and _leads_further(position, known):
            return position.target_offset + 1
        return known.passed_on_target(offset) if known else 0

    def passed_on_source(self, source: TopicPartition, target_offset: int) -> int:
        """Every record whose mirror lies before an offset of the target lies before this offset on the source."""
        known, position = self._partitions.get(source), self._positions.get(source)
        is_unknown = known is None or not known.is_before_end(target_offset)
        if position is not None and is_unknown and _leads_further(position, known):
            return position.offset + 1
        return known.passed_on_source(target_offset) if known else 0

    def is_past(self, source: TopicPartition, target_offset: int) -> bool:
        """Whether everything that is known to be mirrored lies before an offset of the target."""
        known, position = self._partitions.get(source), self._positions.get(source)
        is_past_position = position is None or target_offset > position.target_offset
        return is_past_position and (known is None or not known.is_before_end(target_offset))


def _leads_further(position: Position, known: PartitionMap | None) -> bool:
    """Whether a position tells of more than the ledger still does."""
    return position.target_offset >= 0 and (known is None or known.next_source <= position.offset)


class PartitionMap:
    """The runs of one source partition, in compact arrays; the older ones thin out when there are too many."""

    def __init__(self, target: TopicPartition, limit: int = RUNS_PER_PARTITION) -> None:
        self.target = target
        self.next_source = 0  # everything before it is done
        self._next_target = _UNKNOWN  # nothing that is still to come lies before it
        self._limit = max(limit, 4)
        self._sources = array("q")
        self._targets = array("q")
        self._lengths = array("q")
        self._gaps = bytearray()  # what is known of the gap before each run
        self._begins_here = False  # nothing was mirrored before the first run
        self._gap_is_unknown = False  # what was mirrored since the last run
        self._end_is_vague = False  # more may have been mirrored before the end that is known

    def __len__(self) -> int:
        return len(self._sources)

    # -- what the ledger tells -----------------------------------------------------------------------------

    def add(self, progress: PartitionProgress) -> None:
        """Take in what one transaction did."""
        if progress.begins_at >= 0 and not self._sources:
            self._begins_here = True
        for run in progress.runs:
            self._append(run)
        self.passed_over(progress.last_offset)

    def passed_over(self, last_offset: int) -> None:
        """Take in that everything up to an offset of the source is done; what is not told of went elsewhere."""
        if not self._gap_is_unknown:
            self.next_source = max(self.next_source, last_offset + 1)

    def begin_like(self, own: PartitionMap) -> None:
        """Nothing has come here before, if all is known of what went to the partition's own target."""
        self._begins_here = own._begins_here

    def happened(self, event: Event) -> None:
        """Take in what happened to the partition: what was mirrored before may not be the source's own any more."""
        if event.kind is EventKind.RECREATED:
            self._forget(begins_here=True)
        elif event.kind is EventKind.TRUNCATION and event.from_offset < event.to_offset:
            self._cut(event.from_offset)
        elif event.kind is EventKind.TRUNCATION:  # the source could not tell from where on its log differs
            self._forget(begins_here=False)
            self.next_source = event.to_offset

    def owner_changed(self) -> None:
        """From here on, up to the next run, somebody else may have mirrored."""
        self._gap_is_unknown = True

    def _append(self, run: Run) -> None:
        if run.source < self._end(self._sources):
            self._cut(run.source)
        if run.target < self._next_target:  # the target has been created anew, and what was mirrored to it is gone
            self._forget(begins_here=False)
        gap = self._gap_before(run)
        known_end = Run(self.next_source, self._next_target, 0)
        if gap == _OPEN and self._sources and known_end != (self._end(self._sources), self._end(self._targets), 0):
            self._put(known_end, _CLOSED)
        if self._sources and run.source == self._end(self._sources) and run.target == self._end(self._targets):
            self._lengths[-1] += run.length
        else:
            self._put(run, gap)
        self._gap_is_unknown = self._end_is_vague = False
        self.next_source, self._next_target = run.source + run.length, run.target + run.length

    def _gap_before(self, run: Run) -> int:
        if not self._sources and not self._begins_here:
            return _OPEN if run.target > 0 else _CLOSED
        if self._gap_is_unknown and run.source > self.next_source and run.target > self._next_target:
            return _VAGUE if self._end_is_vague else _OPEN
        return _CLOSED

    def _put(self, run: Run, gap: int) -> None:
        self._sources.append(run.source)
        self._targets.append(run.target)
        self._lengths.append(run.length)
        self._gaps.append(gap)
        if len(self._sources) > self._limit:
            self._thin_out()

    def _thin_out(self) -> None:
        """Drop every second run of the older half: what lies there then leads to the end of the run before it."""
        dropped = slice(1, len(self._sources) // 2, 2)
        for index in range(*dropped.indices(len(self._sources))):
            self._gaps[index + 1] = _VAGUE
        self._delete(dropped)

    def _cut(self, source: int) -> None:
        """Forget all from a source offset on."""
        first = bisect_left(self._sources, source)
        is_in_open_gap = first < len(self._gaps) and self._gaps[first] != _CLOSED
        self._delete(slice(first, None))
        self._end_is_vague |= self._gap_is_unknown
        self.next_source = min(self.next_source, source)
        if not first:
            self._begins_here = self._begins_here and not is_in_open_gap
            return
        self._lengths[-1] = min(self._lengths[-1], source - self._sources[-1])
        if is_in_open_gap and source > self._end(self._sources):
            self.next_source, self._next_target = self._end(self._sources), self._end(self._targets)
            self._gap_is_unknown = self._end_is_vague = True

    def _forget(self, begins_here: bool) -> None:
        self._delete(slice(None))
        self._end_is_vague |= self._gap_is_unknown
        self._begins_here = begins_here
        self.next_source = 0

    def _delete(self, some: slice) -> None:
        for column in (self._sources, self._targets, self._lengths, self._gaps):
            del column[some]

    def _end(self, column: array[int]) -> int:
        return column[-1] + self._lengths[-1] if column else 0

    # -- answers -------------------------------------------------------------------------------------------

    def to_target(self, offset: int) -> Place:
        """The place on the target for a source offset."""
        found = self._find(self._sources, self._targets, offset)
        if found is not None:
            return found
        if self._is_lost(offset, self.next_source):
            return Place(0, False)
        return Place(self._next_target, offset <= self.next_source and not self._end_is_vague)

    def to_source(self, target_offset: int) -> Place:
        """The place on the source for a target offset."""
        found = self._find(self._targets, self._sources, target_offset)
        if found is not None:
            return found
        if self._is_lost(target_offset, self._next_target):
            return Place(0, False)
        return Place(self.next_source, target_offset <= self._next_target + _MARKER and not self._end_is_vague)

    def passed_on_target(self, offset: int) -> int:
        """Where on the target the last record ends that lies before a source offset; 0 if there is none."""
        return self._end_of_passed(self._sources, self._targets, offset)

    def passed_on_source(self, target_offset: int) -> int:
        """Where on the source the last record ends whose mirror lies before a target offset; 0 if there is none."""
        return self._end_of_passed(self._targets, self._sources, target_offset)

    def is_before_end(self, target_offset: int) -> bool:
        """Whether a mirrored record lies at a target offset or after it."""
        return target_offset < self._next_target

    def _end_of_passed(self, keys: array[int], values: array[int], key: int) -> int:
        index = bisect_left(keys, key) - 1
        return values[index] + min(self._lengths[index], key - keys[index]) if index >= 0 else 0

    def _find(self, keys: array[int], values: array[int], key: int) -> Place | None:
        """Look a key up; None if it lies behind the last run."""
        index = bisect_right(keys, key) - 1
        if index >= 0 and key < keys[index] + self._lengths[index]:
            return Place(values[index] + key - keys[index], True)
        if index + 1 == len(keys):
            return None
        gap = self._gaps[index + 1]
        if gap == _CLOSED:
            return Place(values[index + 1], True)
        if index < 0:
            return Place(0, False)
        is_at_end = key == keys[index] + self._lengths[index]
        return Place(values[index] + self._lengths[index], is_at_end and gap == _OPEN)

    def _is_lost(self, key: int, end: int) -> bool:
        """Whether a key lies before everything that is known."""
        return self._next_target == _UNKNOWN or (not self._sources and not self._begins_here and key < end)
