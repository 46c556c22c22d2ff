"""Wraps the whole key or value into one field."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.transforms.message import Message
from heliograph.transforms.schema import Field, Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_FIELD = "field"


class HoistField(SidedTransform):
    """Makes the key or value the only field of an object; a null too."""

    OPTIONS = (StageOption(_FIELD, "The name of the field.", is_required=True),)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `field`."""
        self._field = settings[_FIELD]
        self._schemas = SchemaCache(self._wrapped)

    def apply(self, message: Message) -> Message:
        """The message with its key or value wrapped."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if schema is None:
            side.replace(None, {self._field: value})
        else:
            wrapped = self._schemas.get(schema)
            side.replace(wrapped, Struct(wrapped, {self._field: value}))
        return message

    def _wrapped(self, schema: Schema) -> Schema:
        return struct_schema([Field(self._field, schema)], "HoistField")
