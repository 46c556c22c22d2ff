"""What all formats of a schema registry can do with one schema."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from heliograph.errors import DataError
from heliograph.transforms.schema import Schema


class RecursiveSchema(DataError):
    """A schema that contains itself: Kafka Connect's values with a schema cannot."""


class Reference(NamedTuple):
    """A schema that another one builds on: the name that it is imported by, and where the registry has it."""

    name: str
    subject: str
    version: int


class StoredSchema(NamedTuple):
    """A schema as registries store it."""

    kind: str  # AVRO, PROTOBUF or JSON
    text: str
    references: tuple[Reference, ...] = ()


class Codec(Protocol):
    """Reads and writes values of one schema; `DataError` if that cannot be done."""

    @property
    def schema(self) -> Schema | None:
        """The schema of its values in Kafka Connect's terms; None if it is too special for those."""

    def decode(self, data: bytes, at: int) -> tuple[Schema | None, Any]:
        """The value that begins there; its schema is the codec's, or None where it does not fit into that."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value, with all that stands between the schema id and the value."""
