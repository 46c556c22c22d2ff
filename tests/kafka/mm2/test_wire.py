from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import ClusterError, MalformedRecord
from heliograph.kafka.mm2.wire import INT16, INT32, INT64, Fields, encode_number, encode_text


@pytest.mark.parametrize(
    ("value", "size", "encoded"),
    [(0, INT16, "0000"), (-1, INT16, "ffff"), (1, INT32, "00000001"), (2**63 - 1, INT64, "7fffffffffffffff")],
)
def test_numbers_are_signed_and_big_endian(value: int, size: int, encoded: str) -> None:
    assert encode_number(value, size).hex() == encoded
    assert Fields("it", bytes.fromhex(encoded)).number(size) == value


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_read_back(text: str) -> None:
    assert Fields("it", encode_text(text)).text() == text


def test_the_length_of_a_text_counts_bytes() -> None:
    assert encode_text("Zürich") == b"\x00\x07Z\xc3\xbcrich"
    assert encode_text("") == b"\x00\x00"


def test_a_text_has_its_limit() -> None:
    assert len(encode_text("x" * 32767)) == 32769
    with pytest.raises(MalformedRecord, match="32768 bytes is too long"):
        encode_text("x" * 32768)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "it is missing"),
        (b"", "it ends too early: 0 bytes"),
        (b"\x00", "it ends too early: 1 bytes"),
        (b"\x00\x03ab", "it ends too early: 4 bytes"),
        (b"\xff\xff", "it holds a text of length -1"),
        (b"\x00\x01\xff", "it holds a text that is not UTF-8"),
        (b"\x00\x01abc", "it has 2 bytes too many"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(data: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecord, match=reason):
        _whole_text(data)


def _whole_text(data: bytes | None) -> None:
    fields = Fields("it", data)
    fields.text()
    fields.expect_end()


def test_an_unknown_version_is_named() -> None:
    Fields("it", b"\x00\x00").expect_version(0)
    with pytest.raises(MalformedRecord, match="it is of version 3, only 0 is known"):
        Fields("it", b"\x00\x03").expect_version(0)


def test_the_error_is_one_of_the_tree() -> None:
    assert issubclass(MalformedRecord, ClusterError)
