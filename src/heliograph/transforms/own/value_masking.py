"""Masks fields of values that were parsed: those without a schema, and those with one, whose schema changes too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from heliograph.transforms.own.disguise import Disguise
from heliograph.transforms.own.field_tree import FieldTree
from heliograph.transforms.own.plain_text import plain_text, typed_text
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.struct import Struct

Change = Callable[[Any], Any]


class MaskedSchema(NamedTuple):
    """The schema of a value after masking, and how to change a value of the old one; None if nothing is masked."""

    schema: Schema
    change: Change | None = None


def masked_value(value: Any, tree: FieldTree, disguise: Disguise) -> Any:
    """A value without a schema with the fields of a tree masked; the same object if it has none of them."""
    if isinstance(value, list):
        changed = [masked_value(item, tree, disguise) for item in value]
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
    if not isinstance(value, dict) or not any(name in value for name in tree):
        return value
    fields = dict(value)
    for name, below in tree.items():
        if name in fields:
            item = fields[name]
            fields[name] = all_masked(item, disguise) if below is None else masked_value(item, below, disguise)
    return fields


def all_masked(value: Any, disguise: Disguise) -> Any:
    """A value without a schema with everything in it masked that is not null; names of fields stay."""
    if isinstance(value, dict):
        return {name: all_masked(item, disguise) for name, item in value.items()}
    if isinstance(value, list):
        return [all_masked(item, disguise) for item in value]
    return None if value is None else disguise(plain_text(value))


def masked_schema(schema: Schema, tree: FieldTree | None, disguise: Disguise) -> MaskedSchema:
    """What becomes of a schema and its values if the fields of a tree are masked; None for the whole value."""
    if schema.type is Type.STRUCT:
        return _masked_struct(schema, tree, disguise)
    if schema.type is Type.ARRAY:
        return _masked_array(schema, tree, disguise)
    if schema.type is Type.MAP:
        return _masked_map(schema, tree, disguise)
    return MaskedSchema(schema) if tree is not None else _masked_scalar(schema, disguise)


def _masked_scalar(schema: Schema, disguise: Disguise) -> MaskedSchema:
    """What is masked is plain text: it is no number, date, enum or UUID any more."""
    is_plain = schema.type is Type.STRING and schema.name is None and not schema.parameters
    default = None if schema.default is None else typed_text(schema, schema.default)
    made = schema if is_plain else Schema(Type.STRING, schema.is_optional, default, doc=schema.doc)
    return MaskedSchema(made, _or_none(lambda value: disguise(typed_text(schema, value))))


def _masked_struct(schema: Schema, tree: FieldTree | None, disguise: Disguise) -> MaskedSchema:
    changes: dict[str, Change] = {}
    fields: list[Field] = []
    for field in schema.fields:
        made = MaskedSchema(field.schema)
        if tree is None or field.name in tree:
            made = masked_schema(field.schema, None if tree is None else tree[field.name], disguise)
        if made.change is not None:
            changes[field.name] = made.change
        fields.append(field if made.schema is field.schema else Field(field.name, made.schema))
    if not changes:
        return MaskedSchema(schema)
    is_same = all(new is old for new, old in zip(fields, schema.fields, strict=True))
    made_schema = schema if is_same else replace(schema, fields=tuple(fields), default=None)

    def change(value: Struct) -> Struct:
        values = dict(value.values)
        for name, how in changes.items():
            values[name] = how(values.get(name))
        return Struct(made_schema, values)

    return MaskedSchema(made_schema, _or_none(change))


def _masked_array(schema: Schema, tree: FieldTree | None, disguise: Disguise) -> MaskedSchema:
    assert schema.value_schema is not None
    item, change = masked_schema(schema.value_schema, tree, disguise)
    if change is None:
        return MaskedSchema(schema)
    return MaskedSchema(_holding(schema, item), _or_none(lambda value: [change(element) for element in value]))


def _masked_map(schema: Schema, tree: FieldTree | None, disguise: Disguise) -> MaskedSchema:
    """By the keys of the map, if all its values keep their type; else all values, since they have one type."""
    assert schema.value_schema is not None
    below = {name: masked_schema(schema.value_schema, sub, disguise) for name, sub in (tree or {}).items()}
    if tree is not None and all(made.schema is schema.value_schema for made in below.values()):
        changes = {name: made.change for name, made in below.items() if made.change is not None}
        if not changes:
            return MaskedSchema(schema)
        return MaskedSchema(schema, _or_none(lambda value: _by_key(value, changes)))
    item, change = masked_schema(schema.value_schema, None, disguise)
    if change is None:
        return MaskedSchema(schema)
    return MaskedSchema(
        _holding(schema, item), _or_none(lambda value: {key: change(element) for key, element in value.items()})
    )


def _by_key(value: dict[Any, Any], changes: dict[str, Change]) -> dict[Any, Any]:
    return {key: changes[key](item) if key in changes else item for key, item in value.items()}


def _holding(schema: Schema, item: Schema) -> Schema:
    return schema if item is schema.value_schema else replace(schema, value_schema=item, default=None)


def _or_none(change: Change) -> Change:
    return lambda value: None if value is None else change(value)
