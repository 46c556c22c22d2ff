"""Turns fields, or whole keys and values, into other types."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from heliograph.errors import DataError
from heliograph.transforms.formats.logical import DAY_MS, days_of
from heliograph.transforms.java_numbers import (
    decimal_to_float32,
    double_to_integer,
    parse_double,
    parse_float32,
    parse_integer,
    shortest_float32,
    to_double,
    to_float32,
    whole,
    wrap,
)
from heliograph.transforms.message import Message
from heliograph.transforms.schema import DATE, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.settings import words
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.requirements import kind_of, require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.smt.values import moment_text, number_text
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_SPEC = "spec"
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_TARGETS = {kind.name: kind for kind in (*_BITS, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING)}
_SOURCES = frozenset((*_TARGETS.values(), Type.BYTES))
_WIDE = 1 << 53  # beyond it, a double does not hold every integer


class _Caster:
    """Casts values of one schema, or of none, and says what it was if it cannot."""

    __slots__ = ("_convert", "_is_possible", "_prepare", "_schema", "_target", "_what")

    def __init__(self, schema: Schema | None, target: Type, what: str) -> None:
        self._schema = schema
        self._target = target.name.lower()
        self._what = what
        self._is_possible = schema is None or schema.type in _SOURCES
        self._prepare = _preparation(schema, target)
        self._convert = _CONVERSIONS[target]

    def __call__(self, value: Any) -> Any:
        if value is None:
            return None
        if not self._is_possible:
            raise DataError(f"{self._what} is {kind_of(value)} and cannot be cast")
        try:
            return self._convert(self._schema, self._prepare(value) if self._prepare else value)
        except TypeError:
            raise DataError(f"{self._what} is {kind_of(value)} and cannot be cast to {self._target}") from None
        except (ValueError, DataError) as error:
            raise DataError(f"{self._what} cannot be cast to {self._target}: {error}") from None


class _Plan(NamedTuple):
    """What becomes of structs of one schema: the new schema, and what is to be done to which fields."""

    schema: Schema
    casters: tuple[tuple[str, _Caster], ...]


class Cast(SidedTransform):
    """Changes types as Java's casts do: integers wrap around, texts are parsed, null stays null."""

    OPTIONS = (
        StageOption(
            _SPEC,
            "Pairs of field and type, as field:type, separated by commas; or one type for the whole key or value. "
            "Types are int8, int16, int32, int64, float32, float64, boolean and string.",
            is_required=True,
        ),
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `spec` and `replace.null.with.default`."""
        self._whole, self._fields = _parse_spec(words(settings, _SPEC))
        self._values = FieldValues(settings)
        self._plans = SchemaCache(self._plan)
        self._whole_schemas = SchemaCache(self._whole_schema)
        self._what = f"Cast: the {self.side_name}"
        self._plain = [(name, self._caster(None, kind, name)) for name, kind in self._fields.items()]
        self._plain_whole = self._caster(None, self._whole) if self._whole else None

    def apply(self, message: Message) -> Message:
        """The message with the other types."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if value is None:
            return message
        if schema is None:
            side.replace(None, self._cast_plain(value))
        elif self._whole:
            updated, cast = self._whole_schemas.get(schema)
            side.replace(updated, cast(value))
        else:
            struct = require_struct(value, self._what)
            plan = self._plans.get(struct.schema)
            values = self._values.copied(struct)
            for name, cast in plan.casters:
                values[name] = cast(values.get(name))
            side.replace(plan.schema, Struct(plan.schema, values))
        return message

    def _cast_plain(self, value: Any) -> Any:
        if self._plain_whole:
            return self._plain_whole(value)
        values = dict(require_map(value, self._what))
        for name, cast in self._plain:
            values[name] = cast(values.get(name))
        return values

    def _whole_schema(self, schema: Schema) -> tuple[Schema, _Caster]:
        assert self._whole is not None
        cast = self._caster(schema, self._whole)
        return replace(_bare(schema), type=self._whole, default=cast(schema.default)), cast

    def _plan(self, schema: Schema) -> _Plan:
        if schema.default is not None:
            raise DataError(f"{self._what} has a default for the whole struct, which cannot be cast")
        casters = tuple(
            (field.name, self._caster(field.schema, self._fields[field.name], field.name))
            for field in schema.fields
            if field.name in self._fields
        )
        by_name = dict(casters)
        fields = [
            Field(field.name, self._field_schema(field, by_name[field.name])) if field.name in by_name else field
            for field in schema.fields
        ]
        return _Plan(replace(struct_schema(fields, "Cast", like=schema), is_optional=schema.is_optional), casters)

    def _field_schema(self, field: Field, cast: _Caster) -> Schema:
        return Schema(self._fields[field.name], field.schema.is_optional, cast(field.schema.default))

    def _caster(self, schema: Schema | None, target: Type, name: str | None = None) -> _Caster:
        return _Caster(schema, target, self._what if name is None else f"{self._what}: field {name!r}")


def _parse_spec(spec: list[str]) -> tuple[Type | None, dict[str, Type]]:
    whole_type: Type | None = None
    fields: dict[str, Type] = {}
    for text in spec:
        name, colon, kind = text.rstrip(":").rpartition(":")
        if ":" in name:
            raise ValueError(f"{_SPEC} has too many colons in {text!r}")
        if colon:
            fields[name.strip()] = _target(kind)
        else:
            whole_type = _target(kind)
    if not spec:
        raise ValueError(f"{_SPEC} names no field and no type")
    if whole_type and len(spec) > 1:
        raise ValueError(f"{_SPEC} has a type for the whole and others; there can be only one then")
    return whole_type, fields


def _target(text: str) -> Type:
    kind = _TARGETS.get(text.strip().upper())
    if kind is None:
        raise ValueError(f"{_SPEC} has no such type: {text.strip()!r}")
    return kind


def _bare(schema: Schema) -> Schema:
    return replace(schema, fields=(), key_schema=None, value_schema=None)


def _preparation(schema: Schema | None, target: Type) -> Callable[[Instant], int] | None:
    """What turns dates into the numbers below them, if they do not become text."""
    if schema is None or target is Type.STRING:
        return None
    return {DATE: days_of, TIME: _time_number, TIMESTAMP: _ms}.get(schema.name or "")


def _ms(value: Instant) -> int:
    return value.ms


def _time_number(value: Instant) -> int:
    if not 0 <= value.ms <= DAY_MS:
        raise ValueError("a time is not within a day")
    return value.ms


def _to_integer(bits: int, _schema: Schema | None, value: Any) -> int:
    kind = type(value)
    if kind is int:
        return wrap(value, bits)
    if kind is float:
        return wrap(double_to_integer(value, max(bits, 32)), bits)
    if kind is Decimal:
        return _decimal_to_integer(bits, _schema, value)
    if kind is bool:
        return int(value)
    if kind is str:
        return parse_integer(value, bits)
    raise TypeError


def _decimal_to_integer(bits: int, schema: Schema | None, value: Decimal) -> int:
    """Without a schema a decimal is a double that keeps its digits."""
    if schema is None:
        return wrap(double_to_integer(to_double(value), max(bits, 32)), bits)
    return wrap(whole(value), bits)


def _to_float32(schema: Schema | None, value: Any) -> float:
    number = _float32_of(schema, value)
    return number if schema is not None else shortest_float32(number)


def _float32_of(schema: Schema | None, value: Any) -> float:
    kind = type(value)
    if kind is float:
        return to_float32(value)
    if kind is int and -_WIDE < value < _WIDE:
        return to_float32(float(value))
    if kind is Decimal and schema is None:
        return to_float32(to_double(value))
    if kind is int or kind is Decimal:
        return decimal_to_float32(Decimal(value))
    if kind is bool:
        return float(value)
    if kind is str:
        return parse_float32(value)
    raise TypeError


def _to_float64(_schema: Schema | None, value: Any) -> float:
    if type(value) is str:
        return parse_double(value)
    if isinstance(value, bool | int | float | Decimal):
        return to_double(value)
    raise TypeError


def _to_boolean(schema: Schema | None, value: Any) -> bool:
    if type(value) is bool:
        return value
    if type(value) is str:
        return value.lower() == "true"
    return _to_integer(64, schema, value) != 0


def _to_string(schema: Schema | None, value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is Instant and schema is not None:
        return moment_text(value)
    if kind is bytes:
        return b64encode(value).decode()
    if isinstance(value, int | float | Decimal):
        return number_text(schema, value)
    raise TypeError


_CONVERSIONS: dict[Type, Callable[[Schema | None, Any], Any]] = {
    **{kind: partial(_to_integer, bits) for kind, bits in _BITS.items()},
    Type.FLOAT32: _to_float32,
    Type.FLOAT64: _to_float64,
    Type.BOOLEAN: _to_boolean,
    Type.STRING: _to_string,
}
