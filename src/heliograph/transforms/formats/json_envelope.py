"""Connect's JSON with a schema in every record: {"schema": …, "payload": …}."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from heliograph.errors import DataError
from heliograph.transforms.formats.envelope_payload import Reader, Writer, payload_reader, payload_writer
from heliograph.transforms.formats.envelope_schema import read_schema, write_schema
from heliograph.transforms.formats.json_text import number, read_plain, write_plain
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache

_MOST_SCHEMAS = 1000  # as many as Java's converter remembers


class _Read(NamedTuple):
    schema: Schema | None
    read: Reader


class _Written(NamedTuple):
    prefix: bytes
    write: Writer


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: msgspec.Raw
    payload: Any


_decoder = msgspec.json.Decoder(_Envelope, float_hook=number)
_by_text: dict[bytes, _Read] = {}


def is_envelope(value: Any) -> bool:
    """Whether a JSON value is such an envelope, and not merely an object with fields of these names."""
    if type(value) is not dict or len(value) != 2 or "payload" not in value or "schema" not in value:
        return False
    schema = value["schema"]
    return schema is None or (isinstance(schema, dict) and isinstance(schema.get("type"), str))


def read_envelope(value: Any) -> tuple[Schema | None, Any]:
    """The schema and the value of an envelope that was read as plain JSON; DataError if they are not sound."""
    if type(value) is not dict or value.keys() != {"schema", "payload"}:
        raise DataError("not an object with the fields schema and payload, and no others")
    known = _known(write_plain(value["schema"]), lambda: value["schema"])
    return known.schema, known.read(value["payload"])


def read_envelope_text(data: bytes) -> tuple[Schema | None, Any]:
    """The same of a JSON text, without reading the text of a schema that is known; DataError if it is no envelope."""
    try:
        envelope = _decoder.decode(data)
    except (msgspec.DecodeError, ValueError, ArithmeticError, RecursionError):
        return read_envelope(read_plain(data))  # says what is wrong
    text = bytes(envelope.schema)
    known = _known(text, lambda: read_plain(text))
    return known.schema, known.read(envelope.payload)


def write_envelope(schema: Schema | None, value: Any, decimals_as_numbers: bool = False) -> bytes:
    """The JSON text of a value and its schema; decimals as base64, unless numbers are asked for."""
    if schema is None:
        return b'{"schema":null,"payload":' + write_plain(value) + b"}"
    prefix, write = (_with_numbers if decimals_as_numbers else _with_bytes).get(schema)
    return prefix + write_plain(write(value)) + b"}"


def _known(text: bytes, node: Callable[[], Any]) -> _Read:
    known = _by_text.get(text)
    if known is None:
        schema = read_schema(node())
        known = _Read(schema, payload_reader(schema) if schema else _read_anything)
        if len(_by_text) >= _MOST_SCHEMAS:
            del _by_text[next(iter(_by_text))]
        _by_text[text] = known
    return known


def _read_anything(node: Any) -> Any:
    return node


def _written(schema: Schema, decimals_as_numbers: bool) -> _Written:
    prefix = b'{"schema":' + write_plain(write_schema(schema, decimals_as_numbers)) + b',"payload":'
    return _Written(prefix, payload_writer(schema, decimals_as_numbers))


_with_bytes = SchemaCache(lambda schema: _written(schema, decimals_as_numbers=False))
_with_numbers = SchemaCache(lambda schema: _written(schema, decimals_as_numbers=True))
