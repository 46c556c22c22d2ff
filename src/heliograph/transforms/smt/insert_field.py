"""Adds fields that tell where a message came from, or one with a fixed text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.message import Message
from heliograph.transforms.schema import TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.requirements import require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_TOPIC = "topic.field"
_PARTITION = "partition.field"
_OFFSET = "offset.field"
_TIMESTAMP = "timestamp.field"
_STATIC = "static.field"
_STATIC_VALUE = "static.value"
_TYPES = {
    _TOPIC: (Type.STRING, None, None),
    _PARTITION: (Type.INT32, None, None),
    _OFFSET: (Type.INT64, None, None),
    _TIMESTAMP: (Type.INT64, TIMESTAMP, 1),
    _STATIC: (Type.STRING, None, None),
}
_SUFFIX_DOC = "With `!` after the name it is required in the schema, with `?` or nothing it is optional."


class InsertField(SidedTransform):
    """Adds the topic, partition or timestamp of a message, or a fixed text, to the fields of its key or value."""

    OPTIONS = (
        StageOption(_TOPIC, f"The field for the topic. {_SUFFIX_DOC}"),
        StageOption(_PARTITION, f"The field for the partition. {_SUFFIX_DOC}"),
        StageOption(_OFFSET, "The field for the offset: known in sink connectors only, an error here as in Kafka."),
        StageOption(_TIMESTAMP, f"The field for the timestamp. {_SUFFIX_DOC}"),
        StageOption(_STATIC, f"The field for a fixed text. {_SUFFIX_DOC}"),
        StageOption(_STATIC_VALUE, "The fixed text."),
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read which fields to add."""
        self._fields = {key: _field(key, settings[key]) for key in _TYPES if settings.get(key) is not None}
        if not self._fields:
            raise ValueError(f"no field to insert: set one of {', '.join(_TYPES)}")
        self._static_value = settings.get(_STATIC_VALUE)
        if _STATIC in self._fields and self._static_value is None:
            raise ValueError(f"{_STATIC_VALUE} is missing: the text for the field that {_STATIC} names")
        self._values = FieldValues(settings)
        self._schemas = SchemaCache(self._extended)
        self._what = f"InsertField: the {self.side_name}"
        self._names = {key: field.name for key, field in self._fields.items()}

    def apply(self, message: Message) -> Message:
        """The message with the fields added; a null has none to add to."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if value is None:
            return message
        if schema is None:
            values = dict(require_map(value, self._what))
            self._insert(values, message, message.timestamp)
            side.replace(None, values)
        else:
            struct = require_struct(value, self._what)
            extended = self._schemas.get(struct.schema)
            values = self._values.copied(struct)
            self._insert(values, message, None if message.timestamp is None else Instant(message.timestamp))
            side.replace(extended, Struct(extended, values))
        return message

    def _insert(self, values: dict[str, Any], message: Message, timestamp: int | Instant | None) -> None:
        for key, name in self._names.items():
            if key == _TOPIC:
                values[name] = message.topic
            elif key == _PARTITION:
                values[name] = message.partition
            elif key == _STATIC:
                values[name] = self._static_value
            elif key == _OFFSET:
                raise DataError(f"InsertField: {_OFFSET} works in sink connectors only; a mirror has no offset yet")
            elif timestamp is not None:
                values[name] = timestamp

    def _extended(self, schema: Schema) -> Schema:
        return struct_schema((*schema.fields, *self._fields.values()), "InsertField", like=schema)


def _field(key: str, text: str) -> Field:
    type_, name, version = _TYPES[key]
    schema = Schema(type_, is_optional=not text.endswith("!"), name=name, version=version)
    return Field(text[:-1] if text.endswith(("!", "?")) else text, schema)
