"""Which records of a key conflict, and when that is known."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.timeline import Settled, Timeline
from tests.conflicts.model import settled_of
from tests.conflicts.samples import WINDOW_MS, Write, as_read_on, record, writes

END_OF_TIME = 10**9
BOUNDS = Bounds(WINDOW_MS, 3 * WINDOW_MS)


def found_in(records: Iterable[Candidate], bounds: Bounds = BOUNDS) -> list[Settled]:
    timeline = Timeline(bounds)
    assert all(timeline.add(one) for one in records)
    return timeline.take(END_OF_TIME)


def shape(settled: Iterable[Settled]) -> list[list[tuple[str, int]]]:
    """Origins and times of each conflict, and of each record alone."""
    groups = [found.candidates if isinstance(found, Conflict) else (found,) for found in settled]
    return [[(one.origin, one.timestamp_ms) for one in group] for group in groups]


def test_records_of_two_origins_at_most_a_window_apart_conflict() -> None:
    assert shape(found_in([record("eu", 0), record("us", 5)])) == [[("eu", 0), ("us", 5)]]
    assert shape(found_in([record("eu", 0), record("us", 6)])) == [[("eu", 0)], [("us", 6)]]


def test_records_of_one_origin_do_not_conflict_however_close() -> None:
    assert shape(found_in([record("eu", 0, b"1"), record("eu", 0, b"2")])) == [[("eu", 0)], [("eu", 0)]]


def test_what_hangs_together_is_one_conflict() -> None:
    bounds = Bounds(5000)
    found = found_in([record("eu", 0), record("us", 4000), record("eu", 8000)], bounds)
    assert shape(found) == [[("eu", 0), ("us", 4000), ("eu", 8000)]]


def test_a_record_that_only_its_own_origin_is_near_stays_out() -> None:
    assert shape(found_in([record("eu", 0), record("eu", 3), record("us", 6)])) == [
        [("eu", 0)],
        [("eu", 3), ("us", 6)],
    ]


def test_all_records_of_one_origin_in_the_window_of_another_belong_to_its_conflict() -> None:
    assert shape(found_in([record("eu", 0), record("eu", 2), record("us", 5)])) == [[("eu", 0), ("eu", 2), ("us", 5)]]


def test_a_conflict_is_told_once_the_watermark_has_passed_its_end_by_more_than_a_window() -> None:
    timeline = Timeline(BOUNDS)
    timeline.add(record("eu", 0))
    timeline.add(record("us", 4))
    assert timeline.settles_after_ms() == 9
    assert timeline.take(9) == []
    assert len(timeline.take(10)) == 1
    assert timeline.is_empty
    assert timeline.settles_after_ms() is None


def test_the_last_record_that_can_join_still_does() -> None:
    timeline = Timeline(BOUNDS)
    timeline.add(record("eu", 0))
    timeline.add(record("us", 4))
    timeline.take(9)
    timeline.add(record("eu", 9))
    assert shape(timeline.take(END_OF_TIME)) == [[("eu", 0), ("us", 4), ("eu", 9)]]


def test_records_that_nothing_can_meet_any_more_are_forgotten() -> None:
    timeline = Timeline(BOUNDS)
    for moment in range(10_000):
        timeline.add(record("eu", moment))
        timeline.take(moment)
        assert len(timeline) <= WINDOW_MS + 1


def test_a_key_written_without_end_on_both_sides_keeps_a_bounded_state() -> None:
    timeline = Timeline(BOUNDS)
    conflicts = 0
    for moment in range(2_000):
        timeline.add(record("eu", moment))
        timeline.add(record("us", moment))
        conflicts += len(timeline.take(moment))
        assert len(timeline) <= 2 * (BOUNDS.span_ms + WINDOW_MS)
    assert conflicts >= 2_000 // BOUNDS.span_ms


def test_a_conflict_that_does_not_end_is_cut_and_goes_on_with_its_last_window() -> None:
    found = found_in([record("eu" if moment % 2 else "us", moment) for moment in range(20)])
    assert [[at for _, at in group] for group in shape(found)] == [[*range(16)], [*range(11, 20)]]
    assert [one.continues for one in found if isinstance(one, Conflict)] == [False, True]


def test_a_record_at_the_very_time_of_the_cut_still_belongs_to_what_is_before_it() -> None:
    timeline = Timeline(BOUNDS)
    for moment in range(15):
        timeline.add(record("eu" if moment % 2 else "us", moment))
    assert timeline.take(15) == []
    timeline.add(record("eu", 15))
    assert shape(timeline.take(16))[0][-1] == ("eu", 15)


def test_a_conflict_of_just_the_longest_span_is_told_once() -> None:
    found = found_in([record("eu" if moment % 2 else "us", moment) for moment in range(16)])
    assert [[at for _, at in group] for group in shape(found)] == [[*range(16)]]


def test_a_pair_across_a_cut_is_still_found() -> None:
    found = found_in([*(record("eu" if moment % 2 else "us", moment) for moment in range(15)), record("eu", 19)])
    assert shape(found)[-1][-1] == ("eu", 19)
    assert ("us", 14) in shape(found)[-1]


def test_a_late_record_is_counted_and_refused() -> None:
    timeline = Timeline(BOUNDS)
    timeline.take(100)
    assert not timeline.add(record("eu", 99))
    assert timeline.add(record("eu", 100))
    assert timeline.late_count == 1
    assert Timeline.from_bytes(BOUNDS, timeline.to_bytes()).late_count == 1


def test_what_is_late_is_still_late_after_a_restart() -> None:
    timeline = Timeline(BOUNDS)
    timeline.take(100)
    assert not Timeline.from_bytes(BOUNDS, timeline.to_bytes()).add(record("eu", 99))


def test_a_restart_in_the_middle_of_a_conflict_that_was_cut_changes_nothing() -> None:
    records = [record("eu" if moment % 2 else "us", moment) for moment in range(20)]
    timeline, found = Timeline(BOUNDS), []
    for one in records:
        timeline.add(one)
        found += timeline.take(one.timestamp_ms)
        timeline = Timeline.from_bytes(BOUNDS, timeline.to_bytes())
    assert len(found) == 1
    assert found + timeline.take(END_OF_TIME) == settled_of(records, BOUNDS)


def test_a_new_timeline_knows_what_is_late_by_the_watermark_it_is_given() -> None:
    assert not Timeline(BOUNDS, watermark_ms=100).add(record("eu", 99))


def test_a_watermark_never_goes_back() -> None:
    timeline = Timeline(BOUNDS)
    timeline.take(100)
    timeline.take(50)
    assert not timeline.add(record("eu", 99))


def test_a_record_that_comes_twice_counts_once_at_its_last_place() -> None:
    (found,) = found_in([record("eu", 0, offset=4), record("eu", 0, offset=1), record("us", 1)])
    assert isinstance(found, Conflict)
    assert [(one.origin, one.offset) for one in found.candidates] == [("eu", 4), ("us", 0)]


@settings(max_examples=300, deadline=None)
@given(history=writes(), window_ms=st.integers(0, 9), windows=st.integers(2, 5))
def test_what_is_found_is_what_the_plain_model_finds(history: list[Write], window_ms: int, windows: int) -> None:
    bounds = Bounds(window_ms, max(1, window_ms * windows))
    records = as_read_on("eu", history, 1)
    assert found_in(records, bounds) == settled_of(records, bounds)


@settings(max_examples=300, deadline=None)
@given(history=writes(longest=25), data=st.data())
def test_arrival_watermarks_and_restarts_change_nothing(history: list[Write], data: st.DataObject) -> None:
    records = as_read_on("eu", history, 1)
    arriving = data.draw(st.permutations(records), label="arrival")
    timeline, found = Timeline(BOUNDS), []
    for count, one in enumerate(arriving, 1):
        assert timeline.add(one)
        earliest_to_come = min((later.timestamp_ms for later in arriving[count:]), default=END_OF_TIME)
        found += timeline.take(earliest_to_come - data.draw(st.integers(0, 10), label="delay"))
        timeline = Timeline.from_bytes(BOUNDS, timeline.to_bytes())
    assert found + timeline.take(END_OF_TIME) == settled_of(records, BOUNDS)
    assert timeline.is_empty


@settings(max_examples=200, deadline=None)
@given(history=writes())
def test_every_pair_that_conflicts_is_in_a_conflict_and_every_record_is_told(history: list[Write]) -> None:
    records = as_read_on("eu", history, 1)
    found = found_in(records)
    together = [{one.identity for one in group.candidates} for group in found if isinstance(group, Conflict)]
    alone = {one.identity for one in found if isinstance(one, Candidate)}
    for one in records:
        for other in records:
            if one.origin != other.origin and abs(one.timestamp_ms - other.timestamp_ms) <= WINDOW_MS:
                assert any({one.identity, other.identity} <= group for group in together)
    assert {one.identity for one in records} == alone.union(*together)
    assert not any(alone & group for group in together)
