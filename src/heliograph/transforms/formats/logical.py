"""Logical types of Kafka Connect, and the plain values below them: bytes, days, milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Final

from heliograph.errors import DataError
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Instant, Schema, Type

SCALE: Final = "scale"  # parameter of a decimal's schema
DAY_MS: Final = 86_400_000

DATE_SCHEMA: Final = Schema(Type.INT32, name=DATE, version=1)
TIME_SCHEMA: Final = Schema(Type.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA: Final = Schema(Type.INT64, name=TIMESTAMP, version=1)


def decimal_schema(scale: int, parameters: Mapping[str, str] | None = None) -> Schema:
    """The schema of decimals with so many digits behind the point."""
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters={SCALE: str(scale), **(parameters or {})})


def scale_of(schema: Schema) -> int:
    """How many digits a decimal has behind the point; DataError if its schema does not say."""
    try:
        return int(schema.parameters[SCALE])
    except (KeyError, ValueError):
        raise DataError("a decimal's schema must have a whole number as its parameter scale") from None


def optional(schema: Schema) -> Schema:
    """The same schema, for values that may be null."""
    return schema if schema.is_optional else replace(schema, is_optional=True)


def decimal_from_bytes(data: bytes, scale: int) -> Decimal:
    """The decimal with this unscaled value, as two's complement with the highest byte first."""
    return _scaled(int.from_bytes(data, "big", signed=True), -scale)


def decimal_to_bytes(value: Decimal, scale: int, size: int | None = None) -> bytes:
    """The unscaled value in as few bytes as possible, or in exactly so many; DataError if it does not fit."""
    unscaled = _unscaled(value, scale)
    needed = ((unscaled if unscaled >= 0 else ~unscaled).bit_length() + 8) // 8
    if size is not None and needed > size:
        raise DataError(f"a decimal needs more than the {size} bytes that its schema has for it")
    return unscaled.to_bytes(size or needed, "big", signed=True)


def days_of(value: Instant) -> int:
    """The day of a date; DataError if it is not midnight."""
    days, rest = divmod(value.ms, DAY_MS)
    if rest:
        raise DataError("a date must not have a time of day")
    return days


def time_of(value: Instant) -> int:
    """The milliseconds of a time of day; DataError if it is longer than a day."""
    if not 0 <= value.ms <= DAY_MS:
        raise DataError("a time of day must not have a date")
    return value.ms


def _scaled(unscaled: int, exponent: int) -> Decimal:
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), exponent))


def _unscaled(value: Decimal, scale: int) -> int:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise DataError("a decimal must be a number")
    number = int("".join(map(str, digits)) or "0")
    shift = exponent + scale
    if shift >= 0:
        number *= int(10**shift)
    else:
        number, lost = divmod(number, int(10**-shift))
        if lost:
            raise DataError(f"a decimal has more than the {scale} digits behind the point that its schema allows")
    return -number if sign else number
