"""Values as text, and text as values: what Kafka Connect's `SimpleHeaderConverter` writes into headers."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from heliograph.transforms.java_calendar import DAY_MS
from heliograph.transforms.java_dates import DateFormat
from heliograph.transforms.java_numbers import double_text, float32_text, to_double
from heliograph.transforms.schema import DECIMAL, Instant, Schema, Type
from heliograph.transforms.struct import Struct

DATE_FORMAT = DateFormat("yyyy-MM-dd")
TIME_FORMAT = DateFormat("HH:mm:ss.SSS'Z'")
TIMESTAMP_FORMAT = DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")


def header_bytes(schema: Schema | None, value: Any) -> bytes | None:
    """What a header holds for a value; nothing for null."""
    return None if value is None else text_of(schema, value).encode("utf-8", "replace")


def text_of(schema: Schema | None, value: Any) -> str:
    """A value as text. Within lists and maps, text has quotes around it."""
    return value if type(value) is str else embedded_text(schema, value, quote="")


def moment_text(moment: Instant) -> str:
    """A date, a time or both: whichever says it all."""
    if moment.ms < DAY_MS:
        return TIME_FORMAT.format(moment.ms)
    return (TIMESTAMP_FORMAT if moment.ms % DAY_MS else DATE_FORMAT).format(moment.ms)


def quoted(text: str) -> str:
    """Text as it stands within a list or a map."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number_text(schema: Schema | None, number: float | Decimal) -> str:
    """A number as Java writes one of its type; without a schema it is a double or a long."""
    if type(number) is int:
        return str(number)
    if schema is not None and schema.name == DECIMAL:
        return str(number)
    is_float32 = schema is not None and schema.type is Type.FLOAT32
    return float32_text(to_double(number)) if is_float32 else double_text(to_double(number))


def embedded_text(schema: Schema | None, value: Any, quote: str = '"') -> str:
    """A value as it stands within a list or a map."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return number_text(schema, value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return quote + b64encode(value).decode() + quote
    return moment_text(value) if isinstance(value, Instant) else _collection_text(schema, value)


def _collection_text(schema: Schema | None, value: Any) -> str:
    if isinstance(value, Struct):
        fields = value.schema.fields
        pairs = (f"{quoted(field.name)}:{embedded_text(field.schema, value.get(field.name))}" for field in fields)
        return "{" + ",".join(pairs) + "}"
    keys, items = (schema.key_schema, schema.value_schema) if schema is not None else (None, None)
    if isinstance(value, dict):
        pairs = (f"{embedded_text(keys, name)}:{embedded_text(items, item)}" for name, item in value.items())
        return "{" + ",".join(pairs) + "}"
    return "[" + ",".join(embedded_text(items, item) for item in value) + "]"
