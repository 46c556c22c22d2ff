"""Puts fields into headers."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.errors import DataError
from heliograph.transforms.message import Header, Message, Side
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.settings import words
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.requirements import require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.smt.values import header_bytes
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_FIELDS = "fields"
_HEADERS = "headers"
_OPERATION = "operation"
_MOVE = "move"


class HeaderFrom(SidedTransform):
    """Copies or moves fields into headers, behind those that the message has."""

    OPTIONS = (
        StageOption(_FIELDS, "The names of the fields, separated by commas.", is_required=True),
        StageOption(_HEADERS, "The names of their headers, in the order of the fields.", is_required=True),
        StageOption(
            _OPERATION, "Whether the fields stay (copy) or go (move).", is_required=True, choices=(_MOVE, "copy")
        ),
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `fields`, `headers`, `operation` and `replace.null.with.default`."""
        fields, headers = words(settings, _FIELDS), words(settings, _HEADERS)
        if not fields or len(fields) != len(headers):
            raise ValueError(f"{_FIELDS} and {_HEADERS} must have the same number of names, and at least one")
        self._pairs = tuple(zip(fields, headers, strict=True))
        self._moves = settings[_OPERATION] == _MOVE
        self._gone = frozenset(fields)
        self._values = FieldValues(settings)
        self._schemas = SchemaCache(self._without_fields)
        self._what = f"HeaderFrom: the {self.side_name}"

    def apply(self, message: Message) -> Message:
        """The message with the headers."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        added = self._from_map(side, value) if schema is None else self._from_struct(side, value)
        message.headers = [*message.headers, *added]
        return message

    def _from_map(self, side: Side, value: object) -> list[Header]:
        values = require_map(value, self._what)
        added = [Header(header, header_bytes(None, values.get(field))) for field, header in self._pairs]
        if self._moves:
            side.replace(None, {name: item for name, item in values.items() if name not in self._gone})
        return added

    def _from_struct(self, side: Side, value: object) -> list[Header]:
        struct = require_struct(value, self._what)
        fields = struct.schema.by_name
        values = self._values.copied(struct)
        added = []
        for name, header in self._pairs:
            if name not in fields:
                raise DataError(f"{self._what} has no field {name!r}")
            added.append(Header(header, header_bytes(fields[name].schema, values.get(name))))
        if self._moves:
            schema = self._schemas.get(struct.schema)
            side.replace(schema, Struct(schema, {field.name: values.get(field.name) for field in schema.fields}))
        return added

    def _without_fields(self, schema: Schema) -> Schema:
        kept = (field for field in schema.fields if field.name not in self._gone)
        return struct_schema(kept, "HeaderFrom", like=schema)
