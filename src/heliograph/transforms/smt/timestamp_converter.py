"""Turns times into other forms: numbers, texts, dates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from heliograph.errors import DataError
from heliograph.transforms.formats.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA
from heliograph.transforms.java_calendar import DAY_MS
from heliograph.transforms.java_dates import DateFormat
from heliograph.transforms.java_numbers import wrap
from heliograph.transforms.message import Message, Side
from heliograph.transforms.schema import DATE, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.requirements import kind_of, require_map, require_struct_or_null
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_FIELD = "field"
_TARGET = "target.type"
_FORMAT = "format"
_PRECISION = "unix.precision"
_SCHEMAS = {
    "string": Schema(Type.STRING),
    "unix": Schema(Type.INT64),
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_OPTIONAL_SCHEMAS = {name: replace(schema, is_optional=True) for name, schema in _SCHEMAS.items()}
_PER_SECOND = {"seconds": 1, "milliseconds": 1000, "microseconds": 10**6, "nanoseconds": 10**9}
_LONG = 1 << 63

Moment = int  # ms since 1970


class _Plan(NamedTuple):
    """What becomes of structs of one schema."""

    schema: Schema
    read: Callable[[Any], Moment]


class TimestampConverter(SidedTransform):
    """Turns a field, or the whole key or value, from one form of time into another; null stays null."""

    OPTIONS = (
        StageOption(_FIELD, "The field that holds the time; without it, the whole key or value is one.", ""),
        StageOption(_TARGET, "The form to turn it into.", is_required=True, choices=tuple(_SCHEMAS)),
        StageOption(
            _FORMAT,
            "How times are written as text, in UTC, as a pattern of Java's SimpleDateFormat; to read and to write.",
            "",
        ),
        StageOption(
            _PRECISION, "The unit of numbers; to read and to write.", "milliseconds", choices=tuple(_PER_SECOND)
        ),
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `field`, `target.type`, `format`, `unix.precision` and `replace.null.with.default`."""
        self._field, self._target = settings[_FIELD], settings[_TARGET]
        self._dates = _date_format(settings[_FORMAT])
        if self._dates is None and self._target == "string":
            raise ValueError(f"{_FORMAT} must be given if {_TARGET} is string")
        self._per_second = _PER_SECOND[settings[_PRECISION]]
        self._values = FieldValues(settings)
        self._plans = SchemaCache(self._plan)
        self._readers = SchemaCache(self._reader)
        self._what = f"TimestampConverter: the {self.side_name}"
        if self._field:
            self._what += f": field {self._field!r}"

    def apply(self, message: Message) -> Message:
        """The message with its time in the other form."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if schema is None:
            self._apply_plain(side, value)
        elif self._field:
            self._apply_struct(side, schema, value)
        else:
            read = self._readers.get(schema)
            schemas = _OPTIONAL_SCHEMAS if schema.is_optional else _SCHEMAS
            side.replace(schemas[self._target], self._converted(value, read))
        return message

    def _apply_plain(self, side: Side, value: Any) -> None:
        if value is None:
            return
        if self._field:
            values = require_map(value, self._what)
            side.replace(None, values | {self._field: self._converted(values.get(self._field), self._read_any)})
        else:
            side.replace(None, self._converted(value, self._read_any))

    def _apply_struct(self, side: Side, schema: Schema, value: Any) -> None:
        struct = require_struct_or_null(value, self._what)
        if schema.type is not Type.STRUCT:
            raise DataError(f"{self._what} cannot be there, since {schema.type.value} has no fields")
        if self._field not in schema.by_name:
            return
        plan = self._plans.get(schema)
        side.replace(plan.schema, None if struct is None else self._struct(struct, plan))

    def _struct(self, struct: Struct, plan: _Plan) -> Struct:
        values = self._values.copied(struct)
        values[self._field] = self._converted(values.get(self._field), plan.read)
        return Struct(plan.schema, values)

    def _plan(self, schema: Schema) -> _Plan:
        old = schema.by_name[self._field].schema
        new = (_OPTIONAL_SCHEMAS if old.is_optional else _SCHEMAS)[self._target]
        fields = (Field(field.name, new) if field.name == self._field else field for field in schema.fields)
        updated = replace(struct_schema(fields, "TimestampConverter", like=schema), is_optional=schema.is_optional)
        plan = _Plan(updated, self._reader(old))
        if schema.default is None:
            return plan
        return plan._replace(schema=replace(updated, default=self._struct(schema.default, plan)))

    def _reader(self, schema: Schema) -> Callable[[Any], Moment]:
        if schema.name in (DATE, TIME, TIMESTAMP):
            return self._read_instant
        if schema.type is Type.STRING:
            return self._read_text
        if schema.type is Type.INT64:
            return self._read_number
        raise DataError(f"{self._what} is of type {schema.type.value}, which is no time")

    def _read_any(self, value: Any) -> Moment:
        if type(value) is int:
            return self._read_number(value)
        if type(value) is str:
            return self._read_text(value)
        if type(value) is Instant:
            return value.ms
        raise DataError(f"{self._what} is {kind_of(value)}, which is no time")

    def _read_instant(self, value: Any) -> Moment:
        if type(value) is Instant:
            return value.ms
        raise DataError(f"{self._what} is {kind_of(value)}, not what its schema says")

    def _read_text(self, value: Any) -> Moment:
        if self._dates is None:
            raise DataError(f"{self._what} is text, and {_FORMAT} does not say how to read it")
        try:
            return self._dates.parse(value)
        except ValueError:
            raise DataError(f"{self._what} does not look like {self._dates.pattern}") from None

    def _read_number(self, value: int) -> Moment:
        return _scaled(wrap(value, 64), self._per_second, 1000)

    def _converted(self, value: Any, read: Callable[[Any], Moment]) -> Any:
        if value is None:
            return None
        ms = read(value)
        if self._target == "unix":
            return _scaled(ms, 1000, self._per_second)
        if self._target == "string":
            assert self._dates is not None
            return self._dates.format(ms)
        if self._target == "Timestamp":
            return Instant(ms)
        return Instant(ms % DAY_MS if self._target == "Time" else ms - ms % DAY_MS)


def _date_format(pattern: str) -> DateFormat | None:
    try:
        return DateFormat(pattern) if pattern else None
    except ValueError as error:
        raise ValueError(f"{_FORMAT} is no pattern of dates: {error}") from None


def _scaled(number: int, per_second: int, wanted: int) -> int:
    """A time in another unit; what is lost is cut off, and what is too large becomes the largest there is."""
    if wanted >= per_second:
        return max(-_LONG, min(number * (wanted // per_second), _LONG - 1))
    factor = per_second // wanted
    return number // factor if number >= 0 else -(-number // factor)
