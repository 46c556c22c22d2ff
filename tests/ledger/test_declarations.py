"""Which source offset a sequence number stands for, and how far a partition is by the end of its target."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.ledger.declarations import (
    SEQUENCES,
    Anchor,
    Declaration,
    Doubt,
    Flush,
    Recovered,
    SeenBatch,
    Writer,
    recover,
)

OLD, OURS = Writer(1, 4), Writer(2, 0)
DECLARED = Declaration(OURS, "an-id", (Anchor(0, 100, 7), Anchor(3, 110, 7), Anchor(5, 111, 8)))
FLUSH = Flush(100, 9, OLD, 50)
LAST = SeenBatch(5, 9, OLD, 45)  # what the flush ends with
BOUNDS = (0, 100)


@pytest.mark.parametrize(("sequence", "offset"), [(0, 100), (2, 102), (3, 110), (4, 111), (5, 111), (9, 115)])
def test_offsets_follow_each_other_from_each_anchor_on(sequence: int, offset: int) -> None:
    place = DECLARED.place_of(sequence)
    assert place is not None
    assert place.offset == offset
    assert place.leader_epoch == (8 if sequence >= 5 else 7)


def test_what_was_never_declared_has_no_place() -> None:
    later = replace(DECLARED, anchors=(Anchor(10, 500),))
    assert later.place_of(9) is None


def test_of_two_anchors_for_one_sequence_number_the_later_one_counts() -> None:
    declared = Declaration(OURS, "an-id", (Anchor(0, 100),)).with_anchors([Anchor(0, 103)])
    assert declared.place_of(1) == Anchor(1, 104)


def test_what_lies_before_a_flush_is_left_out_and_nothing_else_changes() -> None:
    since = DECLARED.since(4)
    assert since.anchors == (Anchor(4, 111, 7), Anchor(5, 111, 8))
    assert [since.place_of(number) for number in range(4, 20)] == [DECLARED.place_of(number) for number in range(4, 20)]
    assert since.place_of(3) is None


@pytest.mark.parametrize("ahead", [0, 1, 5, 1000])
def test_sequence_numbers_begin_anew_behind_the_largest(ahead: int) -> None:
    near_the_end = Declaration(OURS, "an-id", (Anchor(SEQUENCES - 3, 100),)).with_anchors([Anchor(2, 200)])
    assert near_the_end.place_of(SEQUENCES - 1) == Anchor(SEQUENCES - 1, 102)
    assert near_the_end.place_of(1) == Anchor(1, 104)
    assert near_the_end.place_of(2 + ahead) == Anchor(2 + ahead, 200 + ahead)
    assert near_the_end.since(1).place_of(1) == Anchor(1, 104)
    assert SeenBatch(0, 2, OURS, SEQUENCES - 2).next_sequence == 1


def test_the_last_batch_of_the_writer_tells_how_far_it_came() -> None:
    tail = [LAST, SeenBatch(11, 13, OURS, 0), SeenBatch(14, 15, OURS, 3)]
    assert recover(FLUSH, DECLARED, tail, BOUNDS) == Recovered(Flush(112, 15, OURS, 5, 7))


def test_what_others_have_written_in_between_does_not_count() -> None:
    tail = [LAST, SeenBatch(11, 13, OURS, 0), SeenBatch(14, 90, Writer(9, 0), 700)]
    assert recover(FLUSH, DECLARED, tail, BOUNDS) == Recovered(Flush(103, 13, OURS, 3, 7))


def test_a_writer_that_has_written_nothing_leaves_the_flush_as_it_is() -> None:
    assert recover(FLUSH, DECLARED, [LAST], BOUNDS) == Recovered(FLUSH)
    assert recover(FLUSH, None, [LAST], BOUNDS) == Recovered(FLUSH)


def test_a_writer_goes_on_behind_its_own_flush() -> None:
    flush = Flush(103, 13, OURS, 3)
    tail = [SeenBatch(11, 13, OURS, 0), SeenBatch(14, 14, OURS, 3)]
    assert recover(flush, DECLARED, tail, BOUNDS) == Recovered(Flush(111, 14, OURS, 4, 7))


@pytest.mark.parametrize(
    ("tail", "bounds"),
    [
        pytest.param([], (0, 9), id="it ends before"),
        pytest.param([SeenBatch(5, 8, OLD, 45), SeenBatch(9, 9, OURS, -1)], BOUNDS, id="a marker stands there"),
        pytest.param([SeenBatch(5, 9, OLD, 12)], BOUNDS, id="other records of the same writer stand there"),
        pytest.param([SeenBatch(5, 12, OLD, 45)], BOUNDS, id="the batch is another"),
    ],
)
def test_a_target_that_lacks_what_was_flushed_was_truncated(tail: list[SeenBatch], bounds: tuple[int, int]) -> None:
    assert recover(FLUSH, DECLARED, tail, bounds) == Recovered(FLUSH, Doubt.TRUNCATED)


def test_a_sequence_number_that_is_missing_stops_there() -> None:
    tail = [LAST, SeenBatch(11, 13, OURS, 0), SeenBatch(14, 15, OURS, 4)]
    assert recover(FLUSH, DECLARED, tail, BOUNDS) == Recovered(Flush(103, 13, OURS, 3, 7), Doubt.MISSING)


def test_a_compacted_target_may_lack_all_but_the_newest() -> None:
    tail = [SeenBatch(14, 15, OURS, 4)]
    assert recover(FLUSH, DECLARED, tail, BOUNDS, is_compacted=True) == Recovered(Flush(112, 15, OURS, 6, 8))


def test_retention_leaves_the_end_of_what_was_written_or_nothing_to_tell_by() -> None:
    tail = [SeenBatch(14, 15, OURS, 4)]
    assert recover(FLUSH, DECLARED, tail, (14, 100)) == Recovered(Flush(112, 15, OURS, 6, 8))
    assert recover(FLUSH, DECLARED, [], (14, 100)) == Recovered(FLUSH, Doubt.REMOVED)


def test_what_its_writer_has_not_declared_is_not_guessed() -> None:
    declared = replace(DECLARED, anchors=(Anchor(20, 500),))
    tail = [SeenBatch(11, 13, OURS, 0)]
    flush = Flush(100, 9, OURS, 0)
    last = SeenBatch(9, 9, OURS, SEQUENCES - 1)
    assert recover(flush, declared, [last, *tail], BOUNDS) == Recovered(flush, Doubt.UNDECLARED)


def test_the_position_of_another_mirror_has_no_batch_to_look_for() -> None:
    flush = Flush(100, 9)
    assert recover(flush, DECLARED, [SeenBatch(11, 13, OURS, 0)], BOUNDS).flush.next_offset == 103
