"""The record that knew of all others wins."""

from __future__ import annotations

import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.vector_clock import VectorClock
from heliograph.errors import DataError
from heliograph.transforms.message import Header
from tests.conflicts.samples import conflict, record


def version(origin: str, timestamp_ms: int, clock: bytes, value: bytes = b"v") -> Candidate:
    return record(origin, timestamp_ms, value, headers=(Header("vector-clock", clock),))


def resolved(*records: Candidate) -> Resolution:
    return VectorClock().resolve(conflict(*records))


def test_the_version_that_knows_of_the_other_wins_even_if_its_clock_is_behind() -> None:
    knowing = version("eu", 1, b'{"eu":1,"us":1}')
    assert resolved(knowing, version("us", 9, b'{"us":1}')) == (knowing, b"v", "vector-clock", "")


def test_versions_that_know_nothing_of_each_other_are_reported_and_the_last_wins() -> None:
    last = version("us", 9, b'{"us":1}')
    assert resolved(version("eu", 1, b'{"eu":1}'), last) == (last, b"v", "vector-clock", "concurrent")


def test_what_is_older_than_a_concurrent_version_cannot_win() -> None:
    outdated = version("us", 9, b'{"us":1}')
    known, other = version("ap", 2, b'{"us":1,"ap":1}'), version("eu", 1, b'{"eu":1}')
    assert resolved(outdated, known, other)[::3] == (known, "concurrent")


def test_a_counter_of_zero_is_as_good_as_none() -> None:
    assert resolved(version("eu", 1, b'{"eu":1,"us":0}'), version("us", 9, b'{"eu":1}')).note == ""


def test_a_record_without_the_header_knows_nothing() -> None:
    knowing = version("eu", 1, b'{"eu":1}')
    assert resolved(knowing, record("us", 9)).winner == knowing


def test_equal_clocks_of_different_values_are_concurrent() -> None:
    assert resolved(version("eu", 1, b'{"eu":1}', b"a"), version("us", 2, b'{"eu":1}', b"b")).note == "concurrent"


def test_the_header_can_be_another() -> None:
    resolver = VectorClock()
    resolver.configure({"conflicts.vector.clock.header": "vc"})
    knowing = record("eu", 1, headers=(Header("vc", b'{"eu":1}'),))
    assert resolver.resolve(conflict(knowing, record("us", 9))).winner == knowing
    with pytest.raises(ValueError, match=r"conflicts\.vector\.clock\.header"):
        resolver.configure({"conflicts.vector.clock.header": " "})


@pytest.mark.parametrize("clock", [b"", b"7", b'{"eu":"secret"}', b'{"eu":1.5}', b'{"eu":-1}', b"\xff", b'{"eu":true}'])
def test_a_header_that_is_no_clock_is_named_but_not_shown(clock: bytes) -> None:
    with pytest.raises(DataError, match="the header vector-clock") as raised:
        resolved(version("eu", 1, clock), version("us", 1, b"{}"))
    assert "secret" not in str(raised.value)
