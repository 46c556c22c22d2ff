"""Gives schemas another name or version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from heliograph.errors import DataError
from heliograph.transforms.java_numbers import parse_integer
from heliograph.transforms.message import Message
from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.smt.field_values import DEFAULTS_OPTION, FieldValues
from heliograph.transforms.stage import SidedTransform, StageOption
from heliograph.transforms.struct import Struct

_NAME = "schema.name"
_VERSION = "schema.version"


class SetSchemaMetadata(SidedTransform):
    """Sets the name and the version of schemas; messages without one fail."""

    OPTIONS = (
        StageOption(_NAME, "The name of the schema; it keeps its own if this is not given."),
        StageOption(_VERSION, "The version of the schema, a whole number; it keeps its own if this is not given."),
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `schema.name`, `schema.version` and `replace.null.with.default`."""
        self._name = settings.get(_NAME)
        self._version = _version(settings.get(_VERSION))
        if self._name is None and self._version is None:
            raise ValueError(f"{_NAME} or {_VERSION} must be given")
        self._values = FieldValues(settings)
        self._schemas = SchemaCache(self._updated)
        self._what = f"SetSchemaMetadata: the {self.side_name}"

    def apply(self, message: Message) -> Message:
        """The message with the name and version; one without value and schema stays as it is."""
        side = self.side(message)
        schema, value, _ = side.parsed(message.topic)
        if schema is None:
            if value is None:
                return message
            raise DataError(f"{self._what} has no schema")
        updated = self._schemas.get(schema)
        side.replace(updated, Struct(updated, self._values.copied(value)) if isinstance(value, Struct) else value)
        return message

    def _updated(self, schema: Schema) -> Schema:
        if schema.type is not Type.STRUCT:
            raise DataError(f"{self._what} must be a struct, but it is {schema.type.value}")
        name = schema.name if self._name is None else self._name
        version = schema.version if self._version is None else self._version
        return replace(schema, name=name, version=version)


def _version(text: str | None) -> int | None:
    try:
        return None if text is None else parse_integer(text, 32)
    except ValueError:
        raise ValueError(f"{_VERSION} must be a whole number, not {text!r}") from None
