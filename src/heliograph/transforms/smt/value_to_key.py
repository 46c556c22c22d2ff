"""Makes a new key of fields of the value."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.errors import DataError
from heliograph.transforms.message import Message
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.smt.name_list import required_name_list
from heliograph.transforms.smt.requirements import require_map, require_struct
from heliograph.transforms.smt.struct_schema import struct_schema
from heliograph.transforms.stage import StageOption, Transform
from heliograph.transforms.struct import Struct

_FIELDS = "fields"
_WHAT = "ValueToKey: the value"


class ValueToKey(Transform):
    """Replaces the key by some fields of the value; the partition stays."""

    OPTIONS = (
        StageOption(_FIELDS, "The fields of the value that make the key, separated by commas.", is_required=True),
        DEFAULTS_OPTION,
    )
    may_reroute = False

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `fields` and `replace.null.with.default`."""
        self._names = required_name_list(settings, _FIELDS)
        self._values = FieldValues(settings)
        self._schemas = SchemaCache(self._key_schema)

    def apply(self, message: Message) -> Message:
        """The message with its new key, in the format of its value."""
        schema, value, _ = message.value.parsed(message.topic)
        if schema is None:
            fields = require_map(value, _WHAT)
            message.key.replace(None, {name: fields.get(name) for name in self._names}, like=message.value)
        else:
            struct = require_struct(value, _WHAT)
            key_schema = self._schemas.get(struct.schema)
            values = self._values.copied(struct)
            key = Struct(key_schema, {name: values.get(name) for name in self._names})
            message.key.replace(key_schema, key, like=message.value)
        return message

    def _key_schema(self, schema: Schema) -> Schema:
        missing = [name for name in self._names if name not in schema.by_name]
        if missing:
            raise DataError(f"{_WHAT} has no field {missing[0]!r}")
        return struct_schema((schema.by_name[name] for name in self._names), "ValueToKey")
