from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka.encoding import INT16, INT32, INT64, Reader, compact_string, uvarint


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16_383, "ff7f"), (2**31 - 1, "ffffffff07")],
)
def test_numbers_have_seven_bits_to_a_byte(number: int, encoded: str) -> None:
    assert uvarint(number).hex() == encoded
    assert Reader(memoryview(bytes.fromhex(encoded))).uvarint() == number


def test_a_string_has_its_length_in_bytes_plus_one_before_it() -> None:
    assert compact_string("né") == b"\x04n\xc3\xa9"
    assert compact_string("") == b"\x01"


@given(st.integers(0, 2**63 - 1), st.binary(max_size=300), st.integers(-(2**31), 2**31 - 1), st.integers(-9, 9))
def test_a_reader_takes_what_was_written_in_order(number: int, content: bytes, small: int, tiny: int) -> None:
    data = (
        uvarint(number) + uvarint(len(content) + 1) + content + INT32.pack(small) + INT16.pack(tiny) + INT64.pack(small)
    )
    reader = Reader(memoryview(data))
    assert reader.uvarint() == number
    assert bytes(reader.compact_bytes()) == content
    assert (reader.int32(), reader.int16(), reader.int64()) == (small, tiny, small)
    assert reader.position == len(data)


def test_absent_bytes_are_empty() -> None:
    reader = Reader(memoryview(b"\0\x05"))
    assert len(reader.compact_bytes()) == 0
    assert reader.uvarint() == 5


def test_bytes_are_taken_without_a_copy() -> None:
    data = bytearray(b"abcdef")
    piece = Reader(memoryview(data), 2).take(3)
    data[2] = ord("X")
    assert bytes(piece) == b"Xde"


def test_tagged_fields_are_told_by_their_numbers_and_unknown_ones_are_passed_over() -> None:
    reader = Reader(memoryview(b"\x02\x00\x02ab\x81\x01\x01c\x07"))
    assert {tag: bytes(value) for tag, value in reader.tags().items()} == {0: b"ab", 129: b"c"}
    assert reader.uvarint() == 7
    assert Reader(memoryview(b"\0")).tags() == {}
