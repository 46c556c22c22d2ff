"""Lifts nested fields to the top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from heliograph.errors import DataError
from heliograph.transforms.message import Message
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.requirements import Map, require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_DELIMITER = "delimiter"


class _Level(NamedTuple):
    """What becomes of the fields of one struct: those that get a new name, and those with fields of their own."""

    lifted: tuple[tuple[str, str], ...]
    nested: tuple[tuple[str, _Level], ...]


class _Inherited(NamedTuple):
    """What fields get from the structs around them."""

    prefix: str
    is_optional: bool
    default: Struct | None


class Flatten(SidedTransform):
    """Makes one flat object of a nested one, with joined names; lists stay as they are."""

    OPTIONS = (StageOption(_DELIMITER, "What stands between the joined names.", default="."),)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `delimiter`."""
        self._delimiter = settings[_DELIMITER]
        self._plans = SchemaCache(self._plan)
        self._what = f"Flatten: the {self.side_name}"

    def apply(self, message: Message) -> Message:
        """The message flattened; a null stays one."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if value is None:
            return message
        if schema is None:
            side.replace(None, self._flat_map(require_map(value, self._what)))
        else:
            struct = require_struct(value, self._what)
            flat_schema, level = self._plans.get(schema)
            values: dict[str, Any] = {}
            _lift(struct, level, values)
            side.replace(flat_schema, Struct(flat_schema, values))
        return message

    def _joined(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name

    def _flat_map(self, value: Map) -> Map:
        """Without recursion, since nobody has limited how deep the value is."""
        flat: Map = {}
        levels = [("", iter(value.items()))]
        while levels:
            prefix, items = levels[-1]
            for name, item in items:
                joined = self._joined(prefix, name)
                if isinstance(item, dict):
                    levels.append((joined, iter(item.items())))
                    break
                flat[joined] = item
            else:
                levels.pop()
        return flat

    def _plan(self, schema: Schema) -> tuple[Schema, _Level]:
        top = _Inherited("", schema.is_optional, schema.default)
        return struct_schema(self._fields(schema, top), "Flatten", like=schema), self._level(schema, "")

    def _fields(self, schema: Schema, around: _Inherited) -> Iterator[Field]:
        for name, field_schema in schema.fields:
            default = field_schema.default
            if default is None and around.default is not None:
                default = around.default.get(name)
            here = _Inherited(
                self._joined(around.prefix, name), around.is_optional or field_schema.is_optional, default
            )
            if field_schema.type is Type.STRUCT:
                yield from self._fields(field_schema, here)
            elif field_schema.type is Type.MAP:
                raise DataError(f"{self._what}: field {here.prefix!r} is a map with a schema, which stays nested")
            else:
                yield Field(here.prefix, replace(field_schema, is_optional=here.is_optional, default=default))

    def _level(self, schema: Schema, prefix: str) -> _Level:
        joined = [(field, self._joined(prefix, field.name)) for field in schema.fields]
        return _Level(
            tuple((field.name, name) for field, name in joined if field.schema.type is not Type.STRUCT),
            tuple(
                (field.name, self._level(field.schema, name))
                for field, name in joined
                if field.schema.type is Type.STRUCT
            ),
        )


def _lift(struct: Struct, level: _Level, values: dict[str, Any]) -> None:
    for name, joined in level.lifted:
        values[joined] = struct.get(name)
    for name, nested_level in level.nested:
        nested = struct.without_default(name)
        if nested is not None:
            _lift(nested, nested_level, values)
