"""What is committed of a micro-batch, by what its tasks have told."""

from __future__ import annotations

import pytest

from heliograph.engine.tables.markers import Marker, Rows
from heliograph.engine.tables.micro_batch import State, Written, compared, to_commit
from heliograph.engine.tables.row_writer import Tally
from heliograph.errors import DataError
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.records import Record

PREPARED, COMMITTED, DIFFERENT, COMPLETE = State.PREPARED, State.COMMITTED, State.DIFFERENT, State.COMPLETE


def told(number: int, state: State, *seen: int) -> Written:
    stamp = ProducerStamp(number, 0, is_transactional=True) if state is PREPARED else None
    return Written("q", number, 5, state, frozenset(seen), stamp)


def chosen(*written: Written) -> list[int]:
    return [item.number for item in to_commit(written)]


def test_all_are_committed_in_the_order_of_tasks() -> None:
    assert chosen(told(2, PREPARED), told(0, PREPARED), told(1, PREPARED)) == [0, 1, 2]


def test_what_was_committed_before_is_left_out() -> None:
    assert chosen(told(0, COMMITTED, 0, 1), told(1, COMMITTED, 0, 1), told(2, PREPARED, 0, 1)) == [2]


def test_a_complete_one_is_not_committed_again_even_if_a_task_has_looked_too_early() -> None:
    assert chosen(told(0, COMPLETE), told(1, PREPARED)) == []


@pytest.mark.parametrize(
    "written",
    [
        [told(0, DIFFERENT, 0), told(1, PREPARED, 0)],
        [told(0, PREPARED, 1)],
        [told(0, COMMITTED, 0, 1, 2), told(1, COMMITTED, 0, 1, 2)],
        [told(0, PREPARED), told(1, PREPARED, 0)],
    ],
    ids=["other rows", "a task that is no more", "one task less", "a task that has looked too early"],
)
def test_with_other_tasks_than_before_nothing_is_committed(written: list[Written]) -> None:
    with pytest.raises(DataError, match="micro-batch 5 of query q was written in part"):
        to_commit(written)


def test_rows_are_compared_whatever_their_order() -> None:
    one, other = Tally(), Tally()
    rows = [Record(n, n, b"k%d" % n, b"v%d" % n) for n in range(9)]
    for row in rows:
        one.add(row)
    for row in reversed(rows):
        other.add(row)
    assert compared(Marker(5, one.rows), other.rows) is COMMITTED
    other.add(rows[0])
    assert compared(Marker(5, one.rows), other.rows) is DIFFERENT


def test_as_many_other_rows_are_not_the_same() -> None:
    one, other = Tally(), Tally()
    one.add(Record(0, 0, b"k", b"one"))
    other.add(Record(0, 0, b"k", b"two"))
    assert compared(Marker(5, one.rows), other.rows) is DIFFERENT


def test_a_marker_that_does_not_tell_its_rows_is_taken_at_its_word() -> None:
    assert compared(Marker(5, None), Rows(1, 1)) is COMMITTED
