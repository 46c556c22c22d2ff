"""Blanks out fields."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.java_numbers import to_double, to_float32, whole, wrap
from heliograph.transforms.message import Message
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Instant, Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.big_decimal import big_decimal
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.name_list import required_name_list
from heliograph.transforms.smt.requirements import kind_of, require_map, require_struct
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_FIELDS = "fields"
_REPLACEMENT = "replacement"
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_PLAIN_KINDS = {
    bool: Type.BOOLEAN,
    int: Type.INT64,
    float: Type.FLOAT64,
    Decimal: Type.FLOAT64,
    str: Type.STRING,
    list: Type.ARRAY,
    dict: Type.MAP,
}
_LOGICAL_KINDS = (DECIMAL, DATE, TIME, TIMESTAMP)

Kind = Type | str  # a type, or the name of a logical one
Masks = dict[Kind | None, Any]


class MaskField(SidedTransform):
    """Puts the empty value of its type, or a replacement, in the place of each given field; a null stays null."""

    OPTIONS = (
        StageOption(_FIELDS, "The names of the fields to mask, separated by commas.", is_required=True),
        StageOption(_REPLACEMENT, "What to put there instead of the empty value, for numbers and text only."),
        DEFAULTS_OPTION,
    )
    hides_data = True

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `fields`, `replacement` and `replace.null.with.default`."""
        self._names = required_name_list(settings, _FIELDS)
        self._replacement = settings.get(_REPLACEMENT)
        if self._replacement == "":
            raise ValueError(f"{_REPLACEMENT} is empty; without it, text becomes empty")
        self._masks = _empty_values() if self._replacement is None else _replacements(self._replacement)
        self._values = FieldValues(settings)
        self._kinds = SchemaCache(self._kinds_of)
        self._what = f"MaskField: the {self.side_name}"

    def apply(self, message: Message) -> Message:
        """The message with the fields masked."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if schema is None:
            values = dict(require_map(value, self._what))
            for name in self._names:
                found = values.get(name)
                values[name] = None if found is None else self._mask(name, _PLAIN_KINDS.get(type(found)), found)
            side.replace(None, values)
        else:
            struct = require_struct(value, self._what)
            values = self._values.copied(struct)
            for name, kind in self._kinds.get(struct.schema):
                found = values.get(name)
                if found is not None:
                    values[name] = self._mask(name, kind, found)
            side.replace(schema, Struct(struct.schema, values))
        return message

    def _kinds_of(self, schema: Schema) -> tuple[tuple[str, Kind], ...]:
        masked = (schema.by_name[name] for name in self._names if name in schema.by_name)
        return tuple((field.name, _kind(field.schema)) for field in masked)

    def _mask(self, name: str, kind: Kind | None, found: Any) -> Any:
        if kind not in self._masks:
            instead = "" if self._replacement is None else f" with the replacement that {_REPLACEMENT} asks for"
            raise DataError(f"{self._what}: field {name!r} is {kind_of(found)} and cannot be masked{instead}")
        mask = self._masks[kind]
        return mask.copy() if kind is Type.ARRAY or kind is Type.MAP else mask


def _kind(schema: Schema) -> Kind:
    return schema.name if schema.name in _LOGICAL_KINDS else schema.type


def _empty_values() -> Masks:
    masks: Masks = {Type.BOOLEAN: False, Type.STRING: "", Type.ARRAY: [], Type.MAP: {}, DECIMAL: Decimal(0)}
    masks.update(dict.fromkeys(_BITS, 0))
    masks.update(dict.fromkeys((Type.FLOAT32, Type.FLOAT64), 0.0))
    masks.update(dict.fromkeys((DATE, TIME, TIMESTAMP), Instant(0)))
    return masks


def _replacements(text: str) -> Masks:
    masks: Masks = {Type.STRING: text}
    try:
        number = big_decimal(text)
    except ValueError:
        return masks
    masks.update((type_, wrap(whole(number), bits)) for type_, bits in _BITS.items())
    double = to_double(number)
    masks.update({Type.FLOAT32: to_float32(double), Type.FLOAT64: double, DECIMAL: number})
    return masks
