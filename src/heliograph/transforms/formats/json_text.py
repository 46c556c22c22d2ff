"""Plain JSON, with every digit of its numbers kept."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import isfinite
from typing import Any

import msgspec

from heliograph.errors import DataError
from heliograph.transforms.java_numbers import double_text
from heliograph.transforms.schema import Instant


def number(text: str) -> float | Decimal:
    """A number with a fraction or an exponent: a float if that is written the same again, else a decimal."""
    found = float(text)
    return found if repr(found) == text else Decimal(text)


_decoder = msgspec.json.Decoder(float_hook=number)


def _refuse(value: Any) -> Any:
    what = "a date without a schema" if isinstance(value, Instant) else type(value).__name__
    raise TypeError(f"{what} has no form in JSON")


_encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=_refuse)


def read_plain(data: bytes) -> Any:
    """The value of a JSON text; DataError if it is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}") from None
    except ArithmeticError:
        raise DataError("not JSON that can be read: a number is out of bounds") from None


def write_plain(value: Any) -> bytes:
    """The JSON text of a value; DataError if JSON has no way to write it."""
    try:
        data = _encoder.encode(value)
        # The encoder turns numbers that are none into null: seldom enough to look twice.
        if b"null" in data and _has_nonfinite((value,)):
            data = _encoder.encode(_with_nonfinite_as_text(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"cannot be written as JSON: {error}") from None
    return data


def _has_nonfinite(values: Iterable[Any]) -> bool:
    for value in values:
        kind = type(value)
        if kind is str or kind is int or value is None:
            continue
        if kind is dict:
            if _has_nonfinite(value.values()):
                return True
        elif kind is list:
            if _has_nonfinite(value):
                return True
        elif kind is float and not isfinite(value):
            return True
    return False


def _with_nonfinite_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_nonfinite_as_text(item) for name, item in value.items()}
    if isinstance(value, list):
        return list(map(_with_nonfinite_as_text, value))
    return double_text(value) if isinstance(value, float) and not isfinite(value) else value
