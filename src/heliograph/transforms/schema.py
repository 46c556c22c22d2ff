"""Kafka Connect's schemas: what a value is, where that is known. Immutable, and equal if they say the same.

How values of each type look in Python: integers of all sizes are `int`, floats `float`, decimals `decimal.Decimal`,
dates, times and timestamps `Instant`; arrays are lists, maps dicts, structs `Struct`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, NamedTuple


class Type(Enum):
    """The types of Kafka Connect, by the names that its JSON uses."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


class Instant:
    """A moment: the value of the logical types date, time and timestamp, as Java's `Date` has it."""

    __slots__ = ("ms",)

    def __init__(self, ms: int) -> None:
        self.ms = ms  # since 1970-01-01 UTC

    def __eq__(self, other: object) -> bool:
        return self.ms == other.ms if isinstance(other, Instant) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.ms)

    def __repr__(self) -> str:
        return f"Instant({self.ms})"


class Field(NamedTuple):
    """One field of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True)
class Schema:
    """The type of a value, with all that Kafka Connect knows of it."""

    type: Type
    is_optional: bool = False
    default: Any = None
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()  # of a struct
    key_schema: Schema | None = None  # of a map
    value_schema: Schema | None = None  # of a map or an array

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields of a struct by their names."""
        return {item.name: item for item in self.fields}
