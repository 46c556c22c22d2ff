"""What was worked out for a schema, kept for the next values that have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from heliograph.transforms.schema import Schema

T = TypeVar("T")

_LIMIT = 256


class SchemaCache(Generic[T]):
    """Keeps one result per schema object; the oldest goes when there are too many.

    By identity, since to compare schemas costs more than most of the work that this saves: whoever reads values
    gives those of one schema the same object.
    """

    def __init__(self, make: Callable[[Schema], T]) -> None:
        self._make = make
        self._kept: dict[int, tuple[Schema, T]] = {}  # holds on to the schema, so that its id stays its own

    def get(self, schema: Schema) -> T:
        """The result for a schema, made now if it is new."""
        found = self._kept.get(id(schema))
        return found[1] if found is not None else self._add(schema)

    def _add(self, schema: Schema) -> T:
        made = self._make(schema)
        if len(self._kept) >= _LIMIT:
            del self._kept[next(iter(self._kept))]
        self._kept[id(schema)] = (schema, made)
        return made

    def __getstate__(self) -> dict[str, object]:
        return {"_make": self._make, "_kept": {}}  # another process has other ids
