"""A record of a view tells its value to everybody, and the rest to whoever goes on with the view."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.view import Held
from heliograph.engine.conflicts.view_record import HEADER, held_of, view_record
from heliograph.kafka import records
from heliograph.kafka.records import Record
from tests.conflicts.samples import record

_bytes = st.binary(max_size=9)
_orders = st.builds(lambda time_ms, value: record("us", time_ms, value).order, st.integers(0, 2**41), _bytes)
_helds = st.builds(Held, st.none() | _bytes, _orders, _bytes, st.none() | _orders)


@given(_bytes, _helds)
def test_what_is_written_can_be_read_again(key: bytes, held: Held) -> None:
    (read,) = records.decode(2, memoryview(records.encode([view_record(key, held)])))
    assert (read.key, read.value) == (key, held.value)
    assert held_of(read) == held


def test_a_deletion_is_a_tombstone() -> None:
    assert view_record(b"k", Held(None, record("eu", 5, None).order)).value is None


def test_its_time_is_that_of_the_last_record_that_counts() -> None:
    assert view_record(b"k", Held(b"v", record("eu", 1234).order)).timestamp == 1234
    assert view_record(b"k", Held(b"v", record("eu", -1).order)).timestamp == 0


def test_the_value_is_written_once() -> None:
    written = view_record(b"k", Held(b"long-value", record("eu", 1, b"v").order))
    ((name, rest),) = written.headers
    assert name == HEADER
    assert b"long-value" not in (rest or b"")


def test_what_others_have_written_there_is_left_alone() -> None:
    for headers in ((), (("other", b"x"),), ((HEADER, None),), ((HEADER, b""),), ((HEADER, b"nonsense"),)):
        assert held_of(Record(0, 0, b"k", b"v", headers)) is None
