"""JSON with and without schemas, in as few words as tests need."""

from __future__ import annotations

import json
from typing import Any

from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP

INT8 = {"type": "int8"}
INT16 = {"type": "int16"}
INT32 = {"type": "int32"}
INT64 = {"type": "int64"}
FLOAT = {"type": "float"}
DOUBLE = {"type": "double"}
BOOLEAN = {"type": "boolean"}
TEXT = {"type": "string"}
BYTES = {"type": "bytes"}
DECIMAL_2 = {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}}
A_DATE = {"type": "int32", "name": DATE, "version": 1}
A_TIME = {"type": "int32", "name": TIME, "version": 1}
A_TIMESTAMP = {"type": "int64", "name": TIMESTAMP, "version": 1}
OPTIONAL = {"optional": True}


def array_of(items: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items}


def map_of(values: dict[str, Any], keys: dict[str, Any] = TEXT) -> dict[str, Any]:
    """The schema of a map."""
    return {"type": "map", "keys": keys, "values": values}


def struct_of(fields: dict[str, dict[str, Any]], **labels: Any) -> dict[str, Any]:
    """The schema of a struct."""
    return {"type": "struct", "fields": [schema | {"field": name} for name, schema in fields.items()], **labels}


def plain(value: Any) -> bytes:
    """Plain JSON."""
    return json.dumps(value).encode()


def envelope(schema: dict[str, Any] | None, payload: Any) -> bytes:
    """Connect's JSON with a schema."""
    return json.dumps({"schema": schema, "payload": payload}).encode()
