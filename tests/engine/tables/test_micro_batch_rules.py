"""What is committed of a micro-batch, by what its tasks have told."""

from __future__ import annotations

import pytest

from heliograph.engine.tables.markers import Marker, Rows
from heliograph.engine.tables.micro_batch import State, Written, compared, to_commit
from heliograph.engine.tables.row_writer import Row, Tally
from heliograph.errors import DataError
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.records import Record

PREPARED, COMMITTED, DIFFERENT, COMPLETE = State.PREPARED, State.COMMITTED, State.DIFFERENT, State.COMPLETE
TOPIC = "orders"


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
        one.add((TOPIC, None, row))
    for row in reversed(rows):
        other.add((TOPIC, None, row))
    assert compared(Marker(5, one.rows), other.rows) is COMMITTED
    other.add((TOPIC, None, rows[0]))
    assert compared(Marker(5, one.rows), other.rows) is DIFFERENT


PLAIN: Row = (TOPIC, 1, Record(0, 0, b"k", b"v", [("h", b"1")]))


def summed(*rows: Row) -> Rows:
    tally = Tally()
    for row in rows:
        tally.add(row)
    return tally.rows


@pytest.mark.parametrize(
    "other",
    [
        (TOPIC, 1, Record(0, 0, b"k", b"w", [("h", b"1")])),
        (TOPIC, 1, Record(0, 0, b"kv", b"", [("h", b"1")])),
        (TOPIC, 1, Record(0, 0, b"kv", None, [("h", b"1")])),
        (TOPIC, 1, Record(0, 0, b"", b"kv", [("h", b"1")])),
        (TOPIC, 1, Record(0, 0, None, b"kv", [("h", b"1")])),
        ("other", 1, Record(0, 0, b"k", b"v", [("h", b"1")])),
        (TOPIC, 2, Record(0, 0, b"k", b"v", [("h", b"1")])),
        (TOPIC, None, Record(0, 0, b"k", b"v", [("h", b"1")])),
        (TOPIC, 1, Record(0, 0, b"k", b"v")),
        (TOPIC, 1, Record(0, 0, b"k", b"v", [("h", b"2")])),
        (TOPIC, 1, Record(0, 0, b"k", b"v", [("h1", b"")])),
        (TOPIC, 1, Record(0, 0, b"k", b"v", [("h", None)])),
        (TOPIC, 1, Record(0, 0, b"k", b"v", [("h", b"1"), ("h", b"1")])),
    ],
)
def test_as_many_other_rows_are_not_the_same(other: Row) -> None:
    assert compared(Marker(5, summed(PLAIN)), summed(other)) is DIFFERENT


def test_rows_that_have_swapped_their_values_are_not_the_same() -> None:
    def row(key: bytes, value: bytes) -> Row:
        return TOPIC, None, Record(0, 0, key, value)

    one = summed(row(b"a", b"1"), row(b"b", b"2"))
    assert compared(Marker(5, one), summed(row(b"a", b"2"), row(b"b", b"1"))) is DIFFERENT


def test_times_do_not_count_for_rows_without_one_get_that_of_their_writing() -> None:
    later = (TOPIC, 1, Record(0, 99, b"k", b"v", [("h", b"1")]))
    assert compared(Marker(5, summed(PLAIN)), summed(later)) is COMMITTED


def test_a_marker_that_does_not_tell_its_rows_is_taken_at_its_word() -> None:
    assert compared(Marker(5, None), Rows(1, 1)) is COMMITTED


def test_a_marker_that_tells_only_how_many_rows_is_compared_by_that() -> None:
    assert compared(Marker(5, Rows(1, None)), Rows(1, 7)) is COMMITTED
    assert compared(Marker(5, Rows(2, None)), Rows(1, 7)) is DIFFERENT
