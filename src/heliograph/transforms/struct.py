"""A value with named fields and a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heliograph.transforms.schema import Schema


class Struct:
    """The fields of a struct. Those that were never set are None, or the default of their schema."""

    __slots__ = ("schema", "values")

    def __init__(self, schema: Schema, values: Mapping[str, Any] | None = None) -> None:
        self.schema = schema
        self.values: dict[str, Any] = dict(values or {})

    def get(self, name: str) -> Any:
        """The value of a field; its default where it is None. KeyError if the schema has no such field."""
        field = self.schema.by_name[name]
        value = self.values.get(name)
        return field.schema.default if value is None else value

    def without_default(self, name: str) -> Any:
        """The value of a field as it was set. KeyError if the schema has no such field."""
        return self.values.get(self.schema.by_name[name].name)

    def put(self, name: str, value: Any) -> None:
        """Set a field. KeyError if the schema has no such field."""
        self.values[self.schema.by_name[name].name] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct):
            return NotImplemented
        names = self.schema.by_name
        return self.schema == other.schema and all(self.values.get(name) == other.values.get(name) for name in names)

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        return f"Struct({self.values!r})"
