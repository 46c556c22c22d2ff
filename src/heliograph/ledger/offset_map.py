"""Which offset of the target stands for an offset of the source, and the other way round, from what the ledger tells.

An offset here is what consumers commit: the next record to read. The answer is the place of the first record at or
after it. Where that is not known for sure the answer is an earlier place, never a later one, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from heliograph.ledger import map_records
from heliograph.ledger.map_records import Content, Head, Pair
from heliograph.ledger.pages import PAGE_RUNS, Noted, Page, Pages
from heliograph.model import (
    Event,
    EventKind,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    TopicPartition,
)

PACKED_BYTES = 256 * 1024 * 1024  # of all partitions of a flow; beyond that the oldest runs thin out
_UNKNOWN = -1
# What is known of the gap before a run: all of it was passed over; or others may have mirrored it, beginning at the end
# of the run before, or even that is not sure; or it was known, and has been thinned out.
_CLOSED, _OPEN, _VAGUE, THINNED = range(4)
GAP_KINDS = 3
BREAK = 4  # beside it: copies of what was mirrored again, or is not the source's any more, lie before the run
_MARKER = 1  # a transaction ends with one record that no consumer sees, but that its position moves past


class Place(NamedTuple):
    """An offset on the other side; exact if whoever goes on there neither misses nor repeats a record."""

    offset: int
    is_exact: bool


class OffsetMap:
    """The runs of all partitions of a flow, or only of some, fed with the ledger's entries in their order."""

    def __init__(self, packed_bytes: int = PACKED_BYTES, page_runs: int = PAGE_RUNS) -> None:
        self.only: Collection[TopicPartition] | None = None  # what goes in, if not all
        self._limit = packed_bytes
        self._page_runs = page_runs
        self._partitions: dict[TopicPartition, PartitionMap] = {}
        self._elsewhere: dict[TopicPartition, dict[TopicPartition, PartitionMap]] = {}  # what transforms sent astray
        self._positions: dict[TopicPartition, Position] = {}
        self._replaced: set[TopicPartition] = set()
        self._packed_bytes = 0
        self._dropped: dict[bytes, None] = {}  # keys of records that must go

    def add(self, entry: LedgerEntry) -> None:
        """Take in one transaction."""
        for event in entry.events:
            for known in self._maps(event.source):
                self._packed_bytes += known.happened(event)
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
            if known is not None:
                self._drop(progress.source, known)
            known = self._partitions[progress.source] = PartitionMap(progress.target, self._page_runs)
        self._grow(known, progress)
        for other in self._elsewhere.get(progress.source, {}).values():
            other.passed_over(progress.last_offset)

    def _add_elsewhere(self, progress: PartitionProgress) -> None:
        others = self._elsewhere.setdefault(progress.source, {})
        known = others.get(progress.target)
        if known is None:
            known = others[progress.target] = PartitionMap(progress.target, self._page_runs)
            known.begin_like(self._partitions[progress.source])
        self._grow(known, progress)

    def _grow(self, known: PartitionMap, progress: PartitionProgress) -> None:
        self._packed_bytes += known.add(progress)
        if self._packed_bytes > self._limit:
            largest = max((one for where in self._partitions for one in self._maps(where)), key=_packed_bytes)
            self._packed_bytes += largest.thin_out()

    def _maps(self, source: TopicPartition) -> list[PartitionMap]:
        own = [self._partitions[source]] if source in self._partitions else []
        return [*own, *self._elsewhere.get(source, {}).values()]

    def _drop(self, source: TopicPartition, known: PartitionMap) -> None:
        self._packed_bytes -= known.packed_bytes
        self._dropped |= dict.fromkeys(known.keys(Pair(source, known.target)))

    def forget(self, is_gone: Callable[[Pair], bool]) -> None:
        """Drop all that is known of pairs of partitions of which nobody will ask again."""
        for pair, known in list(self._pairs()):
            if is_gone(pair):
                self._drop(pair.source, known)
                if self._partitions.get(pair.source) is known:
                    del self._partitions[pair.source]
                else:
                    del self._elsewhere[pair.source][pair.target]

    def forget_before(self, firsts: Mapping[TopicPartition, int]) -> None:
        """Drop what lies before the first offsets of the target's partitions: nobody can read there any more."""
        for pair, known in self._pairs():
            self._packed_bytes += known.forget_before(firsts.get(pair.target, 0))

    def _pairs(self) -> Iterator[tuple[Pair, PartitionMap]]:
        for source, own in self._partitions.items():
            yield Pair(source, own.target), own
        for source, others in self._elsewhere.items():
            for target, other in others.items():
                yield Pair(source, target), other

    def of(self, source: TopicPartition) -> PartitionMap | None:
        """All that is known of what went to a partition's own target."""
        return self._partitions.get(source)

    def copy_of(self, sources: Collection[TopicPartition]) -> OffsetMap:
        """What is known of some partitions, whatever is learned later."""
        made = OffsetMap(self._limit, self._page_runs)
        made.only = sources
        made._partitions = {where: known.copy() for where in sources if (known := self._partitions.get(where))}
        for where in self._elsewhere.keys() & sources:
            made._elsewhere[where] = {target: known.copy() for target, known in self._elsewhere[where].items()}
        made._positions = {where: position for where, position in self._positions.items() if where in sources}
        made._replaced = self._replaced.intersection(sources)
        made._packed_bytes = sum(known.packed_bytes for _, known in made._pairs())
        return made

    def is_replaced(self, source: TopicPartition) -> bool:
        """Whether the position was reached in a topic that another one of the same name has replaced since."""
        return source in self._replaced

    def targets(self) -> set[TopicPartition]:
        """All partitions of the target that something is known of."""
        return {pair.target for pair, _ in self._pairs()}

    # -- as records ----------------------------------------------------------------------------------------

    def take_changes(self) -> dict[bytes, bytes | None]:
        """The records of all that has changed since the last call; None for those that must go."""
        changes: dict[bytes, bytes | None] = dict.fromkeys(self._dropped)
        self._dropped = {}
        for pair, known in self._pairs():
            is_own = self._partitions.get(pair.source) is known
            changes.update(known.take_changes(pair, is_own))
        return changes

    def restored(self, content: Content) -> OffsetMap:
        """One that begins with what was written down, as if it had taken in all entries of the ledger up to there."""
        made = OffsetMap(self._limit, self._page_runs)
        made.only = self.only
        for pair, head in content.heads.items():
            if self.only is not None and pair.source not in self.only:
                continue
            known = PartitionMap.restored(pair.target, head, content.pages.get(pair, {}), self._page_runs)
            made._packed_bytes += known.packed_bytes
            if head.is_own:
                made._partitions[pair.source] = known
            else:
                made._elsewhere.setdefault(pair.source, {})[pair.target] = known
        return made

    def owner_changed(self, is_told_of: Callable[[TopicPartition], bool] = lambda _: False) -> None:
        """Another mirror takes over; before it, MirrorMaker 2 may have copied records that the ledger tells not of.

        `is_told_of`: whether the map has that already for a source partition.
        """
        for source in self._partitions:
            if not is_told_of(source):
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


def _packed_bytes(known: PartitionMap) -> int:
    return known.packed_bytes


def _leads_further(position: Position, known: PartitionMap | None) -> bool:
    """Whether a position tells of more than the ledger still does."""
    return position.target_offset >= 0 and (known is None or known.next_source <= position.offset)


class PartitionMap:
    """The runs of one source partition; `thin_out` makes room for newer ones."""

    def __init__(self, target: TopicPartition, page_runs: int = PAGE_RUNS) -> None:
        self.target = target
        self.next_source = 0  # everything before it is done
        self._next_target = _UNKNOWN  # nothing that is still to come lies before it
        self._pages = Pages(page_runs)
        self._begins_here = False  # nothing was mirrored before the first run
        self._gap_is_unknown = False  # what was mirrored since the last run
        self._end_is_vague = False  # more may have been mirrored before the end that is known
        self._is_broken = False  # copies that count no more lie behind the last run
        self._has_changed = True

    def copy(self) -> PartitionMap:
        """The same, whatever becomes of this one."""
        made = PartitionMap(self.target)
        made.__dict__.update(self.__dict__)
        made._pages = self._pages.copy()
        return made

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def packed_bytes(self) -> int:
        """The memory that all runs but the newest take; whatever changes it returns by how much."""
        return self._pages.packed_bytes

    def thin_out(self) -> int:
        """Drop every second run of the older half: what lies there then leads to the end of the run before it."""
        before = self.packed_bytes
        self._pages.thin_out(THINNED)
        self._has_changed = True
        return self.packed_bytes - before

    def forget_before(self, target: int) -> int:
        """Drop full pages that lie wholly before an offset of the target."""
        before, first = self.packed_bytes, self._pages.first_number
        self._pages.forget_before(target)
        self._has_changed |= self._pages.first_number != first
        return self.packed_bytes - before

    # -- as records ----------------------------------------------------------------------------------------

    def keys(self, pair: Pair) -> Iterator[bytes]:
        """The keys of all its records."""
        yield map_records.head_key(pair)
        for number in range(self._pages.first_number, self._pages.last_number + 1):
            yield map_records.page_key(pair, number)

    def take_changes(self, pair: Pair, is_own: bool) -> Iterator[tuple[bytes, bytes | None]]:
        """The records of what has changed since the last call; None for those that must go."""
        if not self._has_changed:
            return
        self._has_changed = False
        pages = self._pages
        for number, page in pages.take_changes().items():
            yield map_records.page_key(pair, number), map_records.encode_page(page) if page else None
        head = Head(
            is_own,
            self.next_source,
            self._next_target,
            self._begins_here,
            self._gap_is_unknown,
            self._end_is_vague,
            self._is_broken,
            pages.first_number,
            pages.last_number,
        )
        yield map_records.head_key(pair), map_records.encode_head(head)

    @classmethod
    def restored(
        cls, target: TopicPartition, head: Head, pages: Mapping[int, Page], page_runs: int = PAGE_RUNS
    ) -> PartitionMap:
        """The same again; where a page is missing, what lies before it is not known."""
        made = cls(target, page_runs)
        numbers = range(head.first_page, head.last_page + 1)  # a keeper that was replaced may have left others
        made._pages = Pages.restored({number: pages[number] for number in numbers if number in pages}, page_runs)
        made.next_source, made._next_target = head.next_source, head.next_target
        made._begins_here, made._gap_is_unknown = head.begins_here, head.gap_is_unknown
        made._end_is_vague, made._is_broken = head.end_is_vague, head.is_broken
        made._has_changed = False
        if made._pages.first_number > head.first_page:
            made._pages.loosen_first(THINNED)
            made._begins_here = False
        return made

    # -- what the ledger tells -----------------------------------------------------------------------------

    def add(self, progress: PartitionProgress) -> int:
        """Take in what one transaction did."""
        self._has_changed = True
        before = self.packed_bytes
        if progress.begins_at >= 0 and not len(self._pages):
            self._begins_here = True
        for run in progress.runs:
            self._append(run)
        self.passed_over(progress.last_offset)
        return self.packed_bytes - before

    def passed_over(self, last_offset: int) -> None:
        """Take in that everything up to an offset of the source is done; what is not told of went elsewhere."""
        if not self._gap_is_unknown and last_offset >= self.next_source:
            self.next_source = last_offset + 1
            self._has_changed = True

    def begin_like(self, own: PartitionMap) -> None:
        """Nothing has come here before, if all is known of what went to the partition's own target."""
        self._begins_here = own._begins_here

    def happened(self, event: Event) -> int:
        """Take in what happened to the partition: what was mirrored before may not be the source's own any more."""
        self._has_changed = True
        before = self.packed_bytes
        if event.kind is EventKind.RECREATED:
            self._forget(begins_here=True)
        elif event.kind is EventKind.TRUNCATION and event.from_offset < event.to_offset:
            self._cut(event.from_offset)
        elif event.kind is EventKind.TRUNCATION:  # the source could not tell from where on its log differs
            self._forget(begins_here=False)
            self.next_source = event.to_offset
        elif event.kind is EventKind.TARGET_LOSS:
            self._cut_on_target(event.from_offset)
        return self.packed_bytes - before

    def owner_changed(self) -> None:
        """From here on, up to the next run, somebody else may have mirrored."""
        self._has_changed |= not self._gap_is_unknown
        self._gap_is_unknown = True

    def _append(self, told: Run) -> None:
        run = self._news_of(told)
        if not run.length:
            return
        if run.source < _end(self._pages.last).source:
            self._cut(run.source)
        if run.target < self._next_target:  # the target has been created anew, and what was mirrored to it is gone
            had_runs = len(self._pages) > 0
            self._forget(begins_here=False)
            self._is_broken = had_runs
        gap, last_end = self._gap_before(run), _end(self._pages.last)
        known_end = Run(self.next_source, self._next_target, 0)
        if gap == _OPEN and len(self._pages) and known_end != last_end:
            self._pages.append(known_end, _CLOSED)
            last_end = known_end
        if len(self._pages) and not self._is_broken and (run.source, run.target) == (last_end.source, last_end.target):
            self._pages.lengthen_last(run.length)
        else:
            self._pages.append(run, gap | BREAK * self._is_broken)
        self._gap_is_unknown = self._end_is_vague = self._is_broken = False
        self.next_source, self._next_target = run.source + run.length, run.target + run.length

    def _news_of(self, run: Run) -> Run:
        """What is not known of a run: a lane that ended before it wrote its position may have told of it before."""
        known = min(run.length, _end(self._pages.last).source - run.source)
        if known <= 0:
            return run
        ends = {0, known - 1}
        if any(self._find(run.source + step, by_target=False) != Place(run.target + step, True) for step in ends):
            return run  # it was mirrored again
        return Run(run.source + known, run.target + known, run.length - known)

    def _gap_before(self, run: Run) -> int:
        if not len(self._pages) and not self._begins_here:
            return _OPEN if run.target > 0 else _CLOSED
        if self._gap_is_unknown and run.source > self.next_source and run.target > self._next_target:
            return _VAGUE if self._end_is_vague else _OPEN
        return _CLOSED

    def _cut(self, source: int) -> None:
        """Forget all from a source offset on."""
        end = _end(self._pages.last)
        self._is_broken |= len(self._pages) > 0 and source < end.source
        gap = self._pages.cut(source)
        is_in_open_gap = gap is not None and gap & GAP_KINDS != _CLOSED
        self._end_is_vague |= self._gap_is_unknown
        self.next_source = min(self.next_source, source)
        if not len(self._pages):
            self._begins_here = self._begins_here and not is_in_open_gap
            return
        end = _end(self._pages.last)
        if is_in_open_gap and source > end.source:
            self.next_source, self._next_target = end.source, end.target
            self._gap_is_unknown = self._end_is_vague = True

    def _cut_on_target(self, target: int) -> None:
        """Forget what lay from an offset of the target on: it is done all the same, and is not mirrored again."""
        before, _ = self._pages.around(target, by_target=True, is_before=True)
        done, run = self.next_source, before.run if before else Run(0, target, 0)
        self._cut(run.source + min(run.length, target - run.target))
        self.next_source, self._next_target = done, min(self._next_target, target)

    def _forget(self, begins_here: bool) -> None:
        self._pages.clear()
        self._is_broken = False
        self._end_is_vague |= self._gap_is_unknown
        self._begins_here = begins_here
        self.next_source = 0

    @property
    def begins_here(self) -> bool:
        """Whether nothing was mirrored before the first run."""
        return self._begins_here

    def runs(self) -> Iterator[Noted]:
        """All runs, with what is known of the gaps before them."""
        return iter(self._pages)

    # -- answers -------------------------------------------------------------------------------------------

    def to_target(self, offset: int) -> Place:
        """The place on the target for a source offset."""
        found = self._find(offset, by_target=False)
        if found is not None:
            return found
        if self._is_lost(offset, self.next_source):
            return Place(0, False)
        return Place(self._next_target, offset <= self.next_source and not self._end_is_vague)

    def to_source(self, target_offset: int) -> Place:
        """The place on the source for a target offset."""
        found = self._find(target_offset, by_target=True)
        if found is not None:
            return found
        if self._is_lost(target_offset, self._next_target):
            return Place(0, False)
        return Place(self.next_source, target_offset <= self._next_target + _MARKER and not self._end_is_vague)

    def passed_on_target(self, offset: int) -> int:
        """Where on the target the last record ends that lies before a source offset; 0 if there is none."""
        return self._end_of_passed(offset, by_target=False)

    def passed_on_source(self, target_offset: int) -> int:
        """Where on the source the last record ends whose mirror lies before a target offset; 0 if there is none."""
        return self._end_of_passed(target_offset, by_target=True)

    def is_before_end(self, target_offset: int) -> bool:
        """Whether a mirrored record lies at a target offset or after it."""
        return target_offset < self._next_target

    def _end_of_passed(self, key: int, by_target: bool) -> int:
        before, _ = self._pages.around(key, by_target, is_before=True)
        if before is None:
            return 0
        start, image = _sides(before, by_target)
        return image + min(before.run.length, key - start)

    def _find(self, key: int, by_target: bool) -> Place | None:
        """Look a key up; None if it lies behind the last run."""
        before, following = self._pages.around(key, by_target)
        length = before.run.length if before else 0
        start, image = _sides(before, by_target) if before else (0, 0)
        if before and key < start + length:
            return Place(image + key - start, True)
        if following is None:
            return None
        if following.gap & GAP_KINDS == _CLOSED:
            return Place(_sides(following, by_target)[1], True)
        if before is None:
            return Place(0, False)
        return Place(image + length, key == start + length and following.gap & GAP_KINDS == _OPEN)

    def _is_lost(self, key: int, end: int) -> bool:
        """Whether a key lies before everything that is known."""
        return self._next_target == _UNKNOWN or (not len(self._pages) and not self._begins_here and key < end)


def _sides(noted: Noted, by_target: bool) -> tuple[int, int]:
    """Where a run begins on the side that is asked about, and on the other one."""
    run = noted.run
    return (run.target, run.source) if by_target else (run.source, run.target)


def _end(run: Run | None) -> Run:
    """Where a run ends on both sides, as an empty run."""
    return Run(run.source + run.length, run.target + run.length, 0) if run else Run(0, 0, 0)
