"""Numbers as Java has them: integers that wrap around, floats of 32 bits, and how their texts look."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

_FLOAT = struct.Struct("<f")
_DOUBLE_BITS = struct.Struct("<Q")
_DOUBLE = struct.Struct("<d")
_TIE_MASK = (1 << 29) - 1  # the bits of a double that a float has no room for
_TIE = 1 << 28
_LEAST_NORMAL_FLOAT = 2.0**-126  # those below have less than six digits
_WIDEST_SHIFT = 64  # ten to this power is a multiple of every power of two that matters
# What Java's Float and Double parse: surrounding blanks, hexadecimal floats and a type suffix too.
_FLOAT_TEXT = re.compile(
    r"[\x00-\x20]*([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?"
    r"|0[xX]([0-9a-fA-F]*\.?[0-9a-fA-F]*)[pP]([+-]?[0-9]+)[fFdD]?)[\x00-\x20]*"
)
_INTEGER_TEXT = re.compile(r"[+-]?\d+")


def wrap(number: int, bits: int) -> int:
    """The lowest bits of an integer as a signed number."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def whole(number: Decimal) -> int:
    """A decimal without its fraction, right in the lowest 64 bits: `BigDecimal.longValue` before it wraps."""
    exponent = number.as_tuple().exponent
    return 0 if isinstance(exponent, str) or exponent >= _WIDEST_SHIFT else int(number)


def double_to_integer(number: float, bits: int) -> int:
    """A double cast to int or long: NaN is 0 and what does not fit becomes the nearest number that does."""
    if math.isnan(number):
        return 0
    limit = 1 << (bits - 1)
    if number >= limit:
        return limit - 1
    return -limit if number < -limit else int(number)


def to_double(number: float | Decimal) -> float:
    """The double next to a number, infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def to_float32(number: float) -> float:
    """The 32 bit float next to a double."""
    try:
        narrowed: float = _FLOAT.unpack(_FLOAT.pack(number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)
    return narrowed


def decimal_to_float32(exact: Decimal) -> float:
    """The 32 bit float next to a decimal, without the error of rounding twice."""
    number = float(exact)
    (bits,) = _DOUBLE_BITS.unpack(_DOUBLE.pack(number))
    if bits & _TIE_MASK == _TIE and math.isfinite(number):
        rest = exact.compare(Decimal(number))
        nudge = 0 if rest == 0 else (1 if (rest > 0) == (number > 0) else -1)
        (number,) = _DOUBLE.unpack(_DOUBLE_BITS.pack(bits + nudge))
    return to_float32(number)


def parse_integer(text: str, bits: int) -> int:
    """An integer's text, as `Byte.parseByte` to `Long.parseLong` read it; ValueError if it is none or too large."""
    if not _INTEGER_TEXT.fullmatch(text):
        raise ValueError("not a whole number")
    number = int(text)
    if wrap(number, bits) != number:
        raise ValueError("out of range")
    return number


def parse_double(text: str) -> float:
    """A number's text as `Double.parseDouble` reads it; ValueError if it is none."""
    return _parse(text, is_double=True)


def parse_float32(text: str) -> float:
    """A number's text as `Float.parseFloat` reads it; ValueError if it is none."""
    return _parse(text, is_double=False)


def double_text(number: float) -> str:
    """A double as `Double.toString` writes it."""
    return _text(number, repr(number))


def float32_text(number: float) -> str:
    """A 32 bit float as `Float.toString` writes it."""
    return _text(number, repr(shortest_float32(number)))


def shortest_float32(number: float) -> float:
    """The double whose text is the shortest that still means this 32 bit float."""
    for digits in range(6 if abs(number) >= _LEAST_NORMAL_FLOAT else 1, 9):
        candidate = float(f"{number:.{digits}g}")
        if to_float32(candidate) == number:
            return candidate
    return float(f"{number:.9g}")


def _parse(text: str, is_double: bool) -> float:
    found = _FLOAT_TEXT.fullmatch(text)
    if not found or found[4] in ("", "."):
        raise ValueError("not a number")
    sign, name, decimal, mantissa, exponent = found.groups()
    if name:
        number = math.nan if name == "NaN" else math.inf
    elif decimal:
        number = float(decimal) if is_double else decimal_to_float32(Decimal(decimal))
    else:
        number = _hexadecimal(f"0x{mantissa}p{exponent}")
        number = number if is_double else to_float32(number)
    return -number if sign == "-" else number


def _hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def _text(number: float, shortest: str) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return _plain(shortest)
    digits = len(Decimal(shortest).normalize().as_tuple().digits)
    mantissa, power = f"{Decimal(shortest):.{digits - 1}e}".split("e") if digits > 1 else f"{number:.1e}".split("e")
    return f"{mantissa}E{int(power)}"


def _plain(shortest: str) -> str:
    text = format(Decimal(shortest), "f")
    return text if "." in text else text + ".0"
