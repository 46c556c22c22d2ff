"""The text of a value that is not text: numbers and booleans as Java prints them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from heliograph.transforms.java_numbers import double_text, float32_text
from heliograph.transforms.schema import DATE, TIME, Instant, Schema, Type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def plain_text(value: Any) -> str:
    """The text of a value without schema: what Java's `toString` gives, bytes in base64, times as ISO 8601."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal):
        return double_text(float(value))
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return _iso(value, None) if isinstance(value, Instant) else str(value)


def typed_text(schema: Schema, value: Any) -> str:
    """The same for a value with a schema, whose numbers have a size."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Instant):
        return _iso(value, schema.name)
    if schema.type is Type.FLOAT32:
        return float32_text(value)
    return plain_text(value)


def _iso(moment: Instant, kind: str | None) -> str:
    try:
        when = _EPOCH + timedelta(milliseconds=moment.ms)
    except OverflowError:
        return str(moment.ms)
    if kind == DATE:
        return when.date().isoformat()
    if kind == TIME:
        return when.time().isoformat("milliseconds")
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
