"""Removes and renames fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heliograph.transforms.message import Message
from heliograph.transforms.schema import Field, Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.settings import words
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.name_list import name_list
from heliograph.transforms.smt.requirements import require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_EXCLUDE = "exclude"
_INCLUDE = "include"
_RENAMES = "renames"


class _Plan(NamedTuple):
    """What becomes of structs of one schema: the new schema, and the fields that stay with their new names."""

    schema: Schema
    kept: tuple[tuple[str, str], ...]


class ReplaceField(SidedTransform):
    """Keeps some of the fields, perhaps under other names."""

    OPTIONS = (
        StageOption(_EXCLUDE, "The fields to remove, separated by commas. They go even if they are included.", ""),
        StageOption(_INCLUDE, "The fields to keep, separated by commas; all if it is empty.", ""),
        StageOption(_RENAMES, "Other names for fields, as old:new, separated by commas.", ""),
        DEFAULTS_OPTION,
    )
    hides_data = True

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `exclude`, `include`, `renames` and `replace.null.with.default`."""
        self._exclude = frozenset(name_list(settings, _EXCLUDE))
        self._include = frozenset(name_list(settings, _INCLUDE))
        self._renames = dict(_rename(text) for text in words(settings, _RENAMES))
        self._values = FieldValues(settings)
        self._plans = SchemaCache(self._plan)
        self._what = f"ReplaceField: the {self.side_name}"

    def apply(self, message: Message) -> Message:
        """The message with the fields that are left; a null has none."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if value is None:
            return message
        if schema is None:
            fields = require_map(value, self._what)
            side.replace(None, {new: fields[old] for old, new in self._kept(fields)})
        else:
            struct = require_struct(value, self._what)
            plan = self._plans.get(struct.schema)
            values = self._values.copied(struct)
            side.replace(plan.schema, Struct(plan.schema, {new: values.get(old) for old, new in plan.kept}))
        return message

    def _kept(self, names: Iterable[str]) -> list[tuple[str, str]]:
        exclude, include, renames = self._exclude, self._include, self._renames
        return [
            (name, renames.get(name, name))
            for name in names
            if name not in exclude and (not include or name in include)
        ]

    def _plan(self, schema: Schema) -> _Plan:
        kept = tuple(self._kept(schema.by_name))
        fields = (Field(new, schema.by_name[old].schema) for old, new in kept)
        return _Plan(struct_schema(fields, "ReplaceField", like=schema), kept)


def _rename(text: str) -> tuple[str, str]:
    names = text.rstrip(":").split(":")
    if len(names) != 2:
        raise ValueError(f"{_RENAMES} must be pairs of names such as old:new, not {text!r}")
    return names[0], names[1]
