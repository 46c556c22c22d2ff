"""The values of a struct's fields, with the defaults of those that are null if that is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.settings import flag
from heliograph.transforms.stage import StageOption
from heliograph.transforms.struct import Struct

DEFAULTS_KEY = "replace.null.with.default"
DEFAULTS_OPTION = StageOption(
    DEFAULTS_KEY, "Whether a field that is null gets the default that its schema has.", default="true"
)


class FieldValues:
    """Copies the values of structs."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.with_defaults = flag(settings, DEFAULTS_KEY)
        self._defaults = SchemaCache(self._defaults_of)

    def copied(self, value: Struct) -> dict[str, Any]:
        """The values by the names of their fields, free to be changed."""
        values = dict(value.values)
        for name, default in self._defaults.get(value.schema):
            if values.get(name) is None:
                values[name] = default
        return values

    def _defaults_of(self, schema: Schema) -> tuple[tuple[str, Any], ...]:
        if not self.with_defaults:
            return ()
        return tuple((field.name, field.schema.default) for field in schema.fields if field.schema.default is not None)
