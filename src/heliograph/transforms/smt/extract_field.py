"""Puts one field in the place of the whole key or value."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.errors import DataError
from heliograph.transforms.message import Message
from heliograph.transforms.schema import Schema
from heliograph.transforms.schema_cache import SchemaCache
from heliograph.transforms.settings import flag
from heliograph.transforms.smt.field_path import SYNTAX_OPTION, FieldPath
from heliograph.transforms.smt.field_values import DEFAULTS_KEY, DEFAULTS_OPTION
from heliograph.transforms.smt.requirements import require_map, require_struct
from heliograph.transforms.stage import SidedTransform, StageOption

_FIELD = "field"


class ExtractField(SidedTransform):
    """Replaces the key or value by one of its fields; a value without a schema that lacks it becomes null."""

    hides_data = True
    OPTIONS = (
        StageOption(_FIELD, "The field to take.", is_required=True),
        SYNTAX_OPTION,
        DEFAULTS_OPTION,
    )

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read `field`, `field.syntax.version` and `replace.null.with.default`."""
        self._path = FieldPath.of(settings, _FIELD)
        self._with_default = flag(settings, DEFAULTS_KEY)
        self._what = f"ExtractField: the {self.side_name}"
        self._schemas = SchemaCache(self._schema_of_field)

    def apply(self, message: Message) -> Message:
        """The message with the field instead of what held it."""
        side = self.side(message)
        parsed = side.parsed(message.topic)
        value = parsed.value
        if parsed.schema is None:
            if value is not None:
                side.replace(None, self._path.value_in_map(require_map(value, self._what), self._what))
            return message
        schema = self._schemas.get(parsed.schema)
        if value is not None:
            struct = require_struct(value, self._what)
            value = self._path.value_in_struct(struct, self._what, with_default=self._with_default)
        side.replace(schema, value)
        return message

    def _schema_of_field(self, schema: Schema) -> Schema:
        field = self._path.field_of(schema, self._what)
        if field is None:
            raise DataError(f"{self._what} has no field {self._path}")
        return field.schema
