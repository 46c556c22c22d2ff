"""Which offsets belong together, from what a ledger tells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.ledger.offset_map import OffsetMap
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Run, TopicPartition
from heliograph.recovery.verification.segments import Bounds, Coverage, Pair, PartitionHistory

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)
EVERYTHING = Bounds(0, 1 << 40, 1 << 40)
BIG = 1 << 60


def progress(*runs: Run, last: int | None = None, size: int = 100) -> PartitionProgress:
    done = max(run.source + run.length - 1 for run in runs) if last is None else last
    return PartitionProgress(SOURCE, TARGET, runs, done, size, 0)


class Story:
    """What a ledger and a journal tell of one partition."""

    def __init__(self, *entries: PartitionProgress) -> None:
        self._map = OffsetMap()
        self._events: list[Event] = []
        for entry in entries:
            self.add(entry)

    def add(self, progress: PartitionProgress, events: Sequence[Event] = ()) -> None:
        self._map.add(LedgerEntry("a->b", 0, "me", 1, 0, (progress,), tuple(events)))
        self._events += events

    def happened(self, event: Event) -> None:
        self._map.add(LedgerEntry("a->b", 0, "me", 1, 0, (), (event,)))
        self._events.append(event)

    def history(self, begins_at_start: bool = False) -> PartitionHistory:
        known = self._map.of(SOURCE)
        assert known is not None
        return PartitionHistory(known, begins_at_start, 10.0, self._events)


def history(*entries: PartitionProgress, begins_at_start: bool = False) -> PartitionHistory:
    return Story(*entries).history(begins_at_start)


def event(kind: EventKind, first: int, end: int) -> Event:
    return Event(kind, SOURCE, first, end, "why")


def covered(
    found: PartitionHistory | Story,
    source: Bounds = EVERYTHING,
    target: Bounds = EVERYTHING,
    start: int = 0,
    size: int = BIG,
) -> Coverage:
    history = found.history() if isinstance(found, Story) else found
    return history.coverage(source, target, start, size)


def ranges(coverage: Coverage) -> list[tuple[int, int, int, int]]:
    return [(*part.begin, *part.end) for part in coverage.segments]


def bounds(first: int, end: int, stable: int | None = None) -> Bounds:
    return Bounds(first, end, end if stable is None else stable)


def test_transactions_in_a_row_are_one_segment() -> None:
    found = history(progress(Run(0, 0, 10)), progress(Run(10, 11, 10), last=22))
    assert ranges(covered(found)) == [(0, 0, 23, 21)]
    assert covered(found).left_out == []


def test_what_is_not_mirrored_yet_is_counted_and_no_difference() -> None:
    coverage = covered(history(progress(Run(0, 0, 10))), source=bounds(0, 25, 20))
    assert ranges(coverage) == [(0, 0, 10, 10)]
    assert coverage.waiting == 10


@pytest.mark.parametrize(
    ("source", "target", "start", "side"),
    [
        (bounds(15, 40), EVERYTHING, (15, 16), "source"),
        (EVERYTHING, bounds(16, 40), (15, 16), "target"),
        (bounds(12, 40), bounds(18, 40), (17, 18), "target"),
        (bounds(18, 40), bounds(13, 40), (18, 19), "source"),
        (EVERYTHING, bounds(10, 40), (10, 10), "target"),  # the marker behind the first transaction
    ],
)
def test_what_retention_removed_on_a_side_is_left_out_and_said(
    source: Bounds, target: Bounds, start: tuple[int, int], side: str
) -> None:
    found = history(progress(Run(0, 0, 10)), progress(Run(10, 11, 10)))
    coverage = covered(found, source, target)
    assert ranges(coverage) == [(*start, 20, 21)]
    assert coverage.left_out == [f"{start[0]} offsets that the {side} no longer has"]


def test_nothing_is_left_of_what_retention_removed_altogether() -> None:
    found = history(progress(Run(0, 0, 10)))
    assert ranges(covered(found, bounds(10, 10))) == []
    assert ranges(covered(found, EVERYTHING, bounds(11, 11))) == []


def test_a_start_in_a_gap_stands_right_behind_the_record_before() -> None:
    """Or somebody else's record in the gap of the target would not be seen."""
    found = history(progress(Run(0, 0, 10)), progress(Run(20, 15, 10)))
    assert ranges(covered(found, start=15)) == [(15, 10, 30, 25)]
    assert ranges(covered(found, start=20)) == [(20, 10, 30, 25)]
    assert ranges(covered(found, target=bounds(12, 40))) == [(10, 12, 30, 25)]
    assert ranges(covered(found, start=25)) == [(25, 20, 30, 25)]
    assert ranges(covered(found, start=30)) == []


def test_a_flow_that_began_at_the_start_is_compared_from_there() -> None:
    """Or records that were never mirrored would not be missed."""
    found = history(progress(Run(5, 0, 10)), begins_at_start=True)
    assert ranges(covered(found)) == [(0, 0, 15, 10)]
    assert ranges(covered(history(progress(Run(5, 3, 10)), begins_at_start=True))) == [(5, 3, 15, 13)]


def test_what_came_before_the_ledger_is_left_out_and_said() -> None:
    coverage = covered(history(progress(Run(50, 60, 10))), source=bounds(20, 60))
    assert ranges(coverage) == [(50, 60, 60, 70)]
    assert len(coverage.left_out) == 1
    assert coverage.left_out[0].startswith("30 offsets before 50")


def test_a_topic_created_anew_leaves_out_what_came_before() -> None:
    found = Story(progress(Run(0, 0, 10)))
    found.happened(event(EventKind.RECREATED, 10, -1))
    assert ranges(covered(found)) == []
    found.add(progress(Run(0, 11, 4)))
    coverage = covered(found)
    assert ranges(coverage) == [(0, 11, 4, 15)]
    assert coverage.left_out == ["what was mirrored from an earlier topic of that name"]


def test_records_of_the_old_topic_in_the_same_transaction_are_left_out_too() -> None:
    found = Story(progress(Run(0, 0, 10)))
    found.add(progress(Run(10, 11, 5), Run(0, 16, 4), last=3), [event(EventKind.RECREATED, 15, -1)])
    assert ranges(covered(found)) == [(0, 16, 4, 20)]


def test_a_log_that_was_cut_back_leaves_out_what_it_lost() -> None:
    found = Story(progress(Run(0, 0, 10)))
    found.happened(event(EventKind.TRUNCATION, 6, 10))
    found.add(progress(Run(6, 11, 5)))
    coverage = covered(found)
    assert ranges(coverage) == [(0, 0, 6, 6), (6, 11, 11, 16)]
    assert coverage.left_out == ["offsets 6 to 9 as they were before the source lost them"]


def test_a_log_that_parted_ways_nobody_knows_where_leaves_out_all_before() -> None:
    found = Story(progress(Run(0, 0, 10)))
    found.happened(event(EventKind.TRUNCATION, 10, 10))
    found.add(progress(Run(10, 11, 5)))
    assert ranges(covered(found)) == [(10, 11, 15, 16)]


def test_a_log_that_was_cut_back_before_the_mirror_noticed_is_no_difference() -> None:
    coverage = covered(history(progress(Run(0, 0, 10))), source=bounds(0, 6))
    assert ranges(coverage) == [(0, 0, 6, 6)]
    assert coverage.left_out == ["offsets 6 to 9, which the source has lost since they were mirrored"]


def test_a_target_created_anew_leaves_out_what_it_had() -> None:
    found = history(progress(Run(0, 0, 10)), progress(Run(10, 0, 5)))
    coverage = covered(found)
    assert ranges(coverage) == [(10, 0, 15, 5)]
    assert "earlier copies of what was mirrored again, or to an earlier target, from offset 10" in coverage.left_out


def test_a_target_that_lost_its_end_is_a_difference() -> None:
    """The source's part stays whole, so its last records find no counterpart."""
    assert ranges(covered(history(progress(Run(0, 0, 10))), target=bounds(0, 7))) == [(0, 0, 10, 7)]


def test_what_an_open_transaction_hides_on_the_target_is_left_out() -> None:
    coverage = covered(history(progress(Run(0, 0, 10))), target=bounds(0, 20, stable=7))
    assert ranges(coverage) == [(0, 0, 7, 7)]
    assert coverage.left_out == ["offsets 7 to 9, which an open transaction on the target hides"]


def test_of_what_was_mirrored_again_the_newest_copy_is_compared() -> None:
    found = history(progress(Run(0, 0, 5), Run(5, 6, 5)), progress(Run(3, 12, 12)))
    assert ranges(covered(found)) == [(0, 0, 3, 3), (3, 12, 15, 24)]
    assert covered(found).left_out == [
        "earlier copies of what was mirrored again, or to an earlier target, from offset 3"
    ]


def test_one_run_is_cut_into_slices_of_the_wanted_size() -> None:
    found = history(progress(Run(0, 5, 1000), size=10_000))
    parts = covered(found, size=2_500).segments
    assert [part.begin for part in parts] == [Pair(0, 5), Pair(250, 255), Pair(500, 505), Pair(750, 755)]
    assert [part.bytes for part in parts] == [2_500] * 4


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=30),
    st.integers(1, 300),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_slices_follow_each_other_and_pair_every_record_with_its_copy(
    steps: Sequence[tuple[int, int, int]], size: int, source_first: int, target_first: int
) -> None:
    found, copies = Story(), {}
    source = target = 0
    for skipped, length, marker in steps:
        source += skipped
        found.add(progress(Run(source, target, length), size=length * 10))
        copies.update({source + n: target + n for n in range(length)})
        source, target = source + length, target + length + marker
    parts = covered(found, bounds(source_first, source), bounds(target_first, target), size=size).segments
    for part, following in pairwise(parts):
        assert part.end == following.begin
    wanted = {(s, t) for s, t in copies.items() if s >= source_first and t >= target_first}
    paired = set()
    for part in parts:
        ours = [s for s in copies if part.begin.source <= s < part.end.source]
        theirs = [t for t in copies.values() if part.begin.target <= t < part.end.target]
        paired |= set(zip(ours, theirs, strict=True))
    assert paired == wanted
