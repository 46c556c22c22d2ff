"""Formats that a converter's class fixes, each as Java's converter reads and writes it."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Mapping
from typing import Any, Final

from heliograph.errors import DataError
from heliograph.transforms.formats.envelope_payload import payload_writer
from heliograph.transforms.formats.json_envelope import read_envelope_text, write_envelope
from heliograph.transforms.formats.json_text import read_plain, write_plain
from heliograph.transforms.formats.registered import SchemaBook
from heliograph.transforms.message import Parsed
from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.values import number_text

PLAIN_JSON: Final = "JSON"  # what a value was read in, for keys that are made of it
ENVELOPE: Final = "JSON with schema"
TEXT: Final = "text"
BYTES: Final = "bytes"

_NUMBERS: Final[Mapping[str, tuple[Type, str]]] = {
    "ShortConverter": (Type.INT16, ">h"),
    "IntegerConverter": (Type.INT32, ">i"),
    "LongConverter": (Type.INT64, ">q"),
    "FloatConverter": (Type.FLOAT32, ">f"),
    "DoubleConverter": (Type.FLOAT64, ">d"),
}
NUMBER_CONVERTERS: Final = tuple(_NUMBERS)

_payloads = SchemaCache(payload_writer)
_payloads_with_numbers = SchemaCache(lambda schema: payload_writer(schema, decimals_as_numbers=True))


def json_payload(schema: Schema | None, value: Any, decimals_as_numbers: bool = False) -> bytes:
    """A value as JSON without its schema."""
    if schema is None:
        return write_plain(value)
    return write_plain((_payloads_with_numbers if decimals_as_numbers else _payloads).get(schema)(value))


class JsonFormat:
    """`JsonConverter`: with `schemas.enable` every record is an envelope, else none is."""

    def __init__(self, has_schemas: bool, decimals_as_numbers: bool) -> None:
        self._has_schemas = has_schemas
        self._decimals_as_numbers = decimals_as_numbers

    def read(self, topic: str, data: bytes) -> Parsed:
        """What the JSON says."""
        if self._has_schemas:
            return Parsed(*read_envelope_text(data), ENVELOPE)
        return Parsed(None, read_plain(data) if data else None, PLAIN_JSON)  # Java takes no bytes for null

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The JSON of a value."""
        if parsed.schema is None and parsed.value is None:
            return None
        write = write_envelope if self._has_schemas else json_payload
        return write(parsed.schema, parsed.value, self._decimals_as_numbers)


class TextFormat:
    """`StringConverter`; maps and lists become JSON, not what Java's `toString` makes of them."""

    _SCHEMA: Final = Schema(Type.STRING, is_optional=True)

    def __init__(self, encoding: str) -> None:
        self._encoding = codecs.lookup(encoding).name

    def read(self, topic: str, data: bytes) -> Parsed:
        """The text."""
        return Parsed(self._SCHEMA, data.decode(self._encoding, "replace"), TEXT)

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes of a text."""
        if parsed.value is None:
            return None
        if isinstance(parsed.value, bytes):
            return parsed.value
        try:
            return self._text(parsed).encode(self._encoding)
        except UnicodeEncodeError:
            raise DataError(f"a text cannot be written in {self._encoding}") from None

    def _text(self, parsed: Parsed) -> str:
        value = parsed.value
        if isinstance(value, str):
            return value
        if isinstance(value, float):
            return number_text(parsed.schema, value)
        return json_payload(parsed.schema, value).decode()


class NumberFormat:
    """The converters of single numbers, such as `LongConverter`."""

    def __init__(self, converter: str) -> None:
        kind, layout = _NUMBERS[converter]
        self._schema = Schema(kind, is_optional=True)
        self._layout = struct.Struct(layout)

    def read(self, topic: str, data: bytes) -> Parsed:
        """The number."""
        if len(data) != self._layout.size:
            raise DataError(f"expected {self._layout.size} bytes for a number, found {len(data)}")
        return Parsed(self._schema, self._layout.unpack(data)[0])

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The bytes of a number."""
        if parsed.value is None:
            return None
        try:
            return self._layout.pack(parsed.value)
        except (struct.error, OverflowError):
            kind = self._schema.type.value
            raise DataError(f"a value cannot be written as {kind}: {type(parsed.value).__name__}") from None


class RegistryFormat:
    """Confluent's converters: Avro, Protobuf or JSON Schema, always with a schema id."""

    def __init__(self, book: SchemaBook, kind: str, is_key: bool) -> None:
        self._book = book
        self._kind = kind
        self._is_key = is_key

    def read(self, topic: str, data: bytes) -> Parsed:
        """What the bytes behind the schema id say."""
        parsed = self._book.read(data, self._kind)
        if parsed is None:
            raise self._book.unknown_id(data)
        return parsed

    def write(self, topic: str, parsed: Parsed) -> bytes | None:
        """The schema id and the value behind it."""
        return None if parsed.value is None else self._book.write(topic, self._is_key, parsed, self._kind)
