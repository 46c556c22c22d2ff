"""One text for one JSON value, whatever the order of its members."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from heliograph.errors import DataError

# Fractions are decimals, never floats: those would be written otherwise than they were read.
_decoder = msgspec.json.Decoder(float_hook=Decimal)
_encoder = msgspec.json.Encoder(decimal_format="number", order="deterministic")


def read_canonical(data: bytes) -> Any:
    """The value of a JSON text; DataError if it is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError):
        raise DataError("the value is not JSON that can be read") from None


def canonical(value: Any) -> bytes:
    """The JSON text of what `read_canonical` has read, with members in the order of their names."""
    try:
        return _encoder.encode(value)
    except (ValueError, OverflowError, RecursionError) as error:
        raise DataError(f"cannot be written as JSON: {type(error).__name__}") from None
