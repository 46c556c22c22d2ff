"""Connect's schemas as JSON: the first half of its envelope."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.formats.envelope_payload import payload_reader, payload_writer
from heliograph.transforms.java_numbers import wrap
from heliograph.transforms.schema import Field, Schema, Type

_TYPES = {kind.value: kind for kind in Type}


def read_schema(node: Any) -> Schema | None:
    """The schema that a JSON node describes, none for null; DataError if it describes none."""
    if node is None:
        return None
    if not isinstance(node, dict) or not isinstance(node.get("type"), str):
        raise DataError("a schema must say its type")
    kind = _TYPES.get(node["type"])
    if kind is None:
        raise DataError(f"there is no type {node['type']!r} in schemas")
    return _with_default(_with_parts(Schema(kind, **_labels(node)), node), node)


def write_schema(schema: Schema, decimals_as_numbers: bool = False) -> dict[str, Any]:
    """The JSON node of a schema, its entries in the order of Java's."""
    parts = _parts(schema, decimals_as_numbers)
    node: dict[str, Any] = {"type": schema.type.value, **parts, "optional": schema.is_optional}
    labels = {"name": schema.name, "version": schema.version, "doc": schema.doc}
    node.update((key, value) for key, value in labels.items() if value is not None)
    if schema.parameters:
        node["parameters"] = dict(schema.parameters)
    if schema.default is not None:
        node["default"] = payload_writer(schema, decimals_as_numbers)(schema.default)
    return node


def _labels(node: dict[str, Any]) -> dict[str, Any]:
    version = node.get("version")
    return {
        "is_optional": node.get("optional") is True,
        "name": _text_or_none(node.get("name")),
        "version": wrap(version, 32) if type(version) is int else None,
        "doc": _text_or_none(node.get("doc")),
        "parameters": _parameters(node.get("parameters")),
    }


def _text_or_none(node: Any) -> str | None:
    return node if isinstance(node, str) else None


def _parameters(node: Any) -> dict[str, str]:
    if not isinstance(node, dict):
        return {}
    if not all(isinstance(value, str) for value in node.values()):
        raise DataError("the parameters of a schema must be text")
    return node


def _with_parts(schema: Schema, node: dict[str, Any]) -> Schema:
    if schema.type is Type.ARRAY:
        return replace(schema, value_schema=_part(node, "items"))
    if schema.type is Type.MAP:
        return replace(schema, key_schema=_part(node, "keys"), value_schema=_part(node, "values"))
    return replace(schema, fields=_fields(node)) if schema.type is Type.STRUCT else schema


def _part(node: dict[str, Any], name: str) -> Schema:
    part = read_schema(node.get(name))
    if part is None:
        raise DataError(f"a schema of type {node['type']} does not say what its {name} are")
    return part


def _fields(node: dict[str, Any]) -> tuple[Field, ...]:
    nodes = node.get("fields")
    if not isinstance(nodes, list):
        raise DataError("a schema of type struct has no list of fields")
    fields = tuple(map(_field, nodes))
    if len({field.name for field in fields}) < len(fields):
        raise DataError("a schema of type struct has two fields of the same name")
    return fields


def _field(node: Any) -> Field:
    schema = read_schema(node)
    name = node.get("field") if schema else None
    if not schema or not isinstance(name, str) or not name:
        raise DataError("a field of a schema of type struct has no name")
    return Field(name, schema)


def _with_default(schema: Schema, node: dict[str, Any]) -> Schema:
    if "default" not in node:
        return schema
    default = payload_reader(schema)(node["default"])
    return schema if default is None else replace(schema, default=default)


def _parts(schema: Schema, decimals_as_numbers: bool) -> dict[str, Any]:
    def write(part: Schema | None) -> dict[str, Any]:
        if part is None:
            raise DataError(f"a schema of type {schema.type.value} does not say what is in it")
        return write_schema(part, decimals_as_numbers)

    if schema.type is Type.ARRAY:
        return {"items": write(schema.value_schema)}
    if schema.type is Type.MAP:
        return {"keys": write(schema.key_schema), "values": write(schema.value_schema)}
    if schema.type is Type.STRUCT:
        return {"fields": [write(field.schema) | {"field": field.name} for field in schema.fields]}
    return {}
