"""The JSON Schema that a schema of Kafka Connect becomes, as Confluent's JsonSchemaData makes it."""

from __future__ import annotations

import json
from base64 import b64encode
from decimal import Decimal
from typing import Any, Final

from heliograph.errors import DataError
from heliograph.transforms.formats import json_schema_types as words
from heliograph.transforms.schema import DECIMAL, Schema, Type

_TYPES: Final = {
    Type.INT8: ("integer", "int8"),
    Type.INT16: ("integer", "int16"),
    Type.INT32: ("integer", "int32"),
    Type.INT64: ("integer", "int64"),
    Type.FLOAT32: ("number", "float32"),
    Type.FLOAT64: ("number", "float64"),
    Type.BOOLEAN: ("boolean", None),
    Type.STRING: ("string", None),
    Type.BYTES: ("string", "bytes"),
    Type.ARRAY: ("array", None),
    Type.STRUCT: ("object", None),
    Type.MAP: ("object", "map"),
}
_USUAL: Final = ("int64", "float64")  # what a type means where nothing is said


def json_schema_definition(schema: Schema) -> dict[str, Any]:
    """The JSON Schema; DataError if there is none."""
    described = _described(schema)
    return {"oneOf": [{"type": "null"}, described]} if schema.is_optional else described


def _described(schema: Schema) -> dict[str, Any]:
    kind, connect_type = _TYPES[schema.type]
    if schema.name == DECIMAL:
        kind = "number" if _keywords(schema).get("type") == "number" else kind
    definition: dict[str, Any] = {"type": kind, **_structure(schema)}
    parameters = {key: text for key, text in schema.parameters.items() if key != words.KEYWORDS}
    told = {
        "title": schema.name,
        words.CONNECT_TYPE: None if connect_type in _USUAL else connect_type,
        words.CONNECT_VERSION: schema.version,
        words.CONNECT_PARAMETERS: parameters or None,
        "description": schema.doc,
        "default": _default(schema.default),
    }
    kept = _keywords(schema)
    definition |= kept if kept.get("type") == kind else {}
    return definition | {key: value for key, value in told.items() if value is not None}


def _structure(schema: Schema) -> dict[str, Any]:
    if schema.type is Type.STRUCT:
        fields = {
            field.name: {**json_schema_definition(field.schema), words.CONNECT_INDEX: index}
            for index, field in enumerate(schema.fields)
        }
        required = [field.name for field in schema.fields if not field.schema.is_optional]
        return {"properties": fields, **({"required": required} if required else {})}
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        return {"items": json_schema_definition(schema.value_schema)}
    if schema.type is Type.MAP:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if schema.key_schema.type is not Type.STRING:
            raise DataError("maps whose keys are no texts cannot be written with a JSON Schema")
        return {"additionalProperties": json_schema_definition(schema.value_schema)}
    return {}


def _keywords(schema: Schema) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(schema.parameters.get(words.KEYWORDS, "{}"))
    return kept


def _default(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value if isinstance(value, bool | int | float | str) and not isinstance(value, Decimal) else None
