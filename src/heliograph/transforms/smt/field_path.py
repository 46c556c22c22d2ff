"""The way to a field: its name, or with `field.syntax.version = V2` the names on the way to it.

In V2 dots part the names. A name with dots in it stands between backticks; a backtick that would end such a name too
early, because a dot follows it, has a backslash before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.requirements import Map, require_map, require_struct
from heliograph.transforms.stage import StageOption
from heliograph.transforms.struct import Struct

SYNTAX_KEY = "field.syntax.version"
SYNTAX_OPTION = StageOption(
    SYNTAX_KEY,
    "V1: a field is named as it is. V2: names of nested fields are joined with dots, `like.this`.id with backticks "
    "around a name that has dots itself.",
    default="V1",
    choices=("V1", "V2", "v1", "v2"),
)


@dataclass(frozen=True)
class FieldPath:
    """The names that lead to one field, from the outermost to its own."""

    steps: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, syntax: str) -> FieldPath:
        """Read a path in the syntax V1 or V2; ValueError if it is none."""
        return cls((text,) if syntax.upper() == "V1" else tuple(_dotted_steps(text)))

    @classmethod
    def of(cls, settings: Mapping[str, str], key: str) -> FieldPath:
        """Read the path that a setting holds, in the syntax that the settings ask for."""
        try:
            return cls.parse(settings[key], settings[SYNTAX_KEY])
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    def __str__(self) -> str:
        return ".".join(self.steps)

    def field_of(self, schema: Schema, what: str) -> Field | None:
        """The field that a schema has there, if it has."""
        found: Field | None = None
        for step in self.steps:
            if schema.type is not Type.STRUCT:
                raise DataError(f"{what}: there is no field {self}, since {schema.type.value} has no fields")
            found = schema.by_name.get(step)
            if found is None:
                return None
            schema = found.schema
        return found

    def value_in_map(self, value: Map, what: str) -> Any:
        """The value without a schema that is found there; None if there is none."""
        current = value
        for step in self.steps[:-1]:
            nested = current.get(step)
            if nested is None:
                return None
            current = require_map(nested, f"{what}: field {step}")
        return current.get(self.steps[-1])

    def value_in_struct(self, value: Struct, what: str, *, with_default: bool) -> Any:
        """The value with a schema that is found there; None if there is none."""
        current = value
        for step in self.steps[:-1]:
            nested = current.get(step) if step in current.schema.by_name else None
            if nested is None:
                return None
            current = require_struct(nested, f"{what}: field {step}")
        last = self.steps[-1]
        if last not in current.schema.by_name:
            return None
        return current.get(last) if with_default else current.without_default(last)


def _dotted_steps(path: str) -> list[str]:
    if not path:
        raise ValueError("names no field")
    steps: list[str] = []
    at = 0
    while at < len(path):
        step, at = _quoted_step(path, at) if path[at] == "`" else _plain_step(path, at)
        steps.append(step)
    return [*steps, ""] if path.endswith(".") else steps


def _plain_step(path: str, start: int) -> tuple[str, int]:
    dot = path.find(".", start)
    end = len(path) if dot < 0 else dot
    return path[start:end], end + 1


def _quoted_step(path: str, opening: int) -> tuple[str, int]:
    """The name between a backtick and the next one before a dot or the end; and where the next name begins."""
    name = ""
    start = at = opening + 1
    while (closing := path.find("`", at)) >= 0:
        at = closing + 1
        if at < len(path) and path[at] != ".":
            continue
        if path[closing - 1] == "\\":
            name += path[start : closing - 1] + "`"
            start = at
            continue
        return name + path[start:closing], at + 1
    raise ValueError(
        f"{path!r} has no backtick that ends the name begun at character {opening + 1}; "
        "one that belongs to a name and has a dot after it needs a backslash before it"
    )
