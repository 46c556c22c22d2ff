"""Plain JSON is read and written without losing anything."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.formats.json_text import read_plain, write_plain
from heliograph.transforms.schema import Instant
from tests.transforms.comparison import comparable
from tests.transforms.java_oracle import JavaOracle

_DIGITS = st.text("0123456789", min_size=1, max_size=25)
_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@pytest.mark.parametrize(
    "text",
    ["1.50", "0.1000000000000000055511151231257827", "123456789012345678901234567890", "-0.0", "1.0", "3.14", "100.00"],
)
def test_numbers_keep_every_digit(text: str) -> None:
    assert write_plain({"n": read_plain(text.encode())}) == f'{{"n":{text}}}'.encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.5", 1.5), ("1.50", Decimal("1.50")), ("1e400", Decimal("1e400")), ("1e5", Decimal("1e5"))],
)
def test_a_number_is_a_decimal_only_where_a_float_would_be_written_otherwise(text: str, value: Any) -> None:
    found = read_plain(text.encode())
    assert (found, type(found)) == (value, type(value))


@given(_DIGITS, _DIGITS, st.sampled_from(["", "e3", "E-12", "e+400"]))
def test_any_number_means_the_same_after_a_round_trip(whole: str, fraction: str, exponent: str) -> None:
    text = f"{whole.lstrip('0') or '0'}.{fraction}{exponent}"
    written = write_plain(read_plain(text.encode())).decode()
    assert Decimal(written) == Decimal(text)
    if not exponent:
        assert Decimal(written).as_tuple() == Decimal(text).as_tuple()


@given(_VALUES)
def test_any_value_survives(value: Any) -> None:
    data = json.dumps(value).encode()
    assert json.loads(write_plain(read_plain(data))) == json.loads(data)


@pytest.mark.parametrize(
    "text",
    ['{"a":[1,2.5,"x",null,true,{"b":{}}],"c":"é€😀"}', "[]", '"text"', "5", "1.50", "false", '{"a":1,"a":2}', "1e3"],
)
def test_java_reads_and_writes_the_same(java_oracle: JavaOracle, text: str) -> None:
    java = java_oracle.converted(text.encode(), "json")
    assert isinstance(java, bytes)
    assert comparable(write_plain(read_plain(text.encode())), "json") == comparable(java, "json")


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{'a':1}", b"NaN", b"[1,]", b'"\xff"', b"[" * 100_000, b"01", b"{} {}", b"1e99999999999999999999"],
)
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        read_plain(data)


def test_a_refusal_does_not_tell_what_the_bytes_are() -> None:
    with pytest.raises(DataError) as raised:
        read_plain(b'{"ssn": 078-05-1120}')
    assert "078" not in str(raised.value)


@pytest.mark.parametrize(("number", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")])
def test_what_is_no_number_is_written_as_text_like_in_java(number: float, text: str) -> None:
    assert json.loads(write_plain({"a": [number], "b": None, "c": 1.5})) == {"a": [text], "b": None, "c": 1.5}


@pytest.mark.parametrize("value", [Instant(5), {"a": Instant(5)}, ["\ud800"], object()])
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(DataError):
        write_plain(value)


def test_bytes_are_written_as_base64() -> None:
    assert write_plain({"a": b"\x00\xff"}) == b'{"a":"AP8="}'
