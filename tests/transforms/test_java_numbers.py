"""Numbers wrap, round and read as in Java."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.transforms.java_numbers import (
    decimal_to_float32,
    double_text,
    double_to_integer,
    float32_text,
    parse_double,
    parse_float32,
    parse_integer,
    shortest_float32,
    to_double,
    to_float32,
    whole,
    wrap,
)


@given(st.integers())
def test_integers_wrap_around(number: int) -> None:
    assert wrap(number, 64) == struct.unpack("<q", (number % 2**64).to_bytes(8, "little"))[0]
    assert wrap(number, 8) == struct.unpack("<b", (number % 2**8).to_bytes(1, "little"))[0]


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1.9", 1), ("-1.9", -1), ("1E+63", 10**63), ("1E+64", 0), ("7E+999999999", 0), ("1E-999999999", 0)],
)
def test_decimals_lose_their_fraction_and_what_no_integer_can_hold(number: str, expected: int) -> None:
    assert whole(Decimal(number)) == expected
    assert wrap(whole(Decimal(number)), 64) == wrap(expected, 64)


@pytest.mark.parametrize(
    ("number", "bits", "expected"),
    [
        (math.nan, 32, 0), (math.inf, 32, 2**31 - 1), (-math.inf, 64, -(2**63)), (1e300, 64, 2**63 - 1), (-2.9, 32, -2),
        (2.0**31, 32, 2**31 - 1), (-(2.0**31), 32, -(2**31)), (2.0**31 - 1, 32, 2**31 - 1),
    ],
)  # fmt: skip
def test_doubles_become_the_nearest_integer_that_fits(number: float, bits: int, expected: int) -> None:
    assert double_to_integer(number, bits) == expected


def test_decimals_are_rounded_to_floats_once_only() -> None:
    """The double next to this one lies just between two floats."""
    below, tie, above = (
        "1.0000000596046447753906249999",
        "1.000000059604644775390625",
        "1.0000000596046447753906250001",
    )
    assert float(below) == float(tie) == float(above)
    for text, expected in ((below, 1.0), (tie, 1.0), (above, 1.0 + 2**-23)):
        assert decimal_to_float32(Decimal(text)) == parse_float32(text) == expected
        assert decimal_to_float32(Decimal("-" + text)) == parse_float32("-" + text) == -expected


@pytest.mark.parametrize("number", [10**400, Decimal("1e400")])
def test_numbers_beyond_all_doubles_are_infinite(number: int | Decimal) -> None:
    assert to_double(number) == math.inf
    assert to_double(-number) == -math.inf
    assert to_float32(1e300) == math.inf
    assert to_float32(-1e300) == -math.inf


@given(st.floats(allow_nan=False))
def test_the_text_of_a_double_is_read_as_the_same(number: float) -> None:
    assert parse_double(double_text(number)) == number


@given(st.floats(allow_nan=False, width=32))
def test_the_text_of_a_float_is_read_as_the_same(number: float) -> None:
    assert parse_float32(float32_text(number)) == number
    assert to_float32(shortest_float32(number)) == number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (0.001, "0.001"), (0.00099, "9.9E-4"), (9999999.0, "9999999.0"),
        (1e7, "1.0E7"), (1.25e10, "1.25E10"), (123.456, "123.456"), (-1e-5, "-1.0E-5"), (5e-324, "4.9E-324"),
        (math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (100.0, "100.0"), (1e21, "1.0E21"),
    ],
)  # fmt: skip
def test_doubles_are_written_as_by_java(number: float, text: str) -> None:
    assert double_text(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2.0**-149, "1.4E-45"), (2.0**-148, "2.8E-45"), (3 * 2.0**-149, "4.2E-45"), (2.0**-126, "1.1754944E-38"),
        (2.0**24, "1.6777216E7"), (to_float32(0.1), "0.1"), (to_float32(3.4e38), "3.4E38"), (to_float32(1.1), "1.1"),
        (to_float32(8.88242e-16), "8.88242E-16"),
    ],
)  # fmt: skip
def test_floats_are_written_as_by_java(number: float, text: str) -> None:
    assert float32_text(number) == text


@pytest.mark.parametrize(
    "text", ["", " ", "x", ".", "1e", "0x", "0x1", "1_0", "--1", "1 2", "infinity", "nan", "0x.p1"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    for parse in (parse_double, parse_float32):
        with pytest.raises(ValueError, match="not a number"):
            parse(text)


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1.0", "0x1", "1_0", "+", "-", "--1"])
def test_what_is_no_integer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a whole number"):
        parse_integer(text, 64)


def test_integers_that_do_not_fit_are_refused() -> None:
    assert parse_integer("-128", 8) == -128
    with pytest.raises(ValueError, match="out of range"):
        parse_integer("128", 8)
