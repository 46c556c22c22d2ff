"""Confluent's framing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.formats.wire import prefix, read_indexes, schema_id, write_indexes


@given(st.integers(min_value=1, max_value=2**31 - 1), st.binary())
def test_an_id_is_read_as_it_was_written(number: int, rest: bytes) -> None:
    assert schema_id(prefix(number) + rest) == number


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\1", b"\1\0\0\0\1x", b"{}xxxx", b"\0\0\0\0\0x", b"\0\xff\0\0\0x"])
def test_other_bytes_have_no_id(data: bytes) -> None:
    assert schema_id(data) is None


def test_the_first_message_of_a_file_takes_one_zero() -> None:
    assert write_indexes((0,)) == b"\0"
    assert read_indexes(b"\0rest", 0) == ((0,), 1)


def test_indexes_are_zigzag_numbers_as_confluent_writes_them() -> None:
    assert write_indexes((1,)) == b"\x02\x02"
    assert write_indexes((1, 0)) == b"\x04\x02\x00"
    assert write_indexes((100,)) == b"\x02\xc8\x01"


@given(st.lists(st.integers(min_value=0, max_value=10_000), min_size=1, max_size=5), st.binary())
def test_indexes_are_read_as_they_were_written(indexes: list[int], rest: bytes) -> None:
    written = write_indexes(tuple(indexes))
    assert read_indexes(written + rest, 0) == (tuple(indexes), len(written))


@pytest.mark.parametrize("data", [b"", b"\x04\x02", b"\xff\xff\xff\xff\xff\xff", b"\x01", b"\xd0\x0f"])
def test_indexes_that_make_no_sense_are_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        read_indexes(data, 0)
