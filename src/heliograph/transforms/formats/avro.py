"""Avro values of one schema, read and written with fastavro."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException

from heliograph.errors import DataError
from heliograph.transforms.formats.avro_definition import avro_definition
from heliograph.transforms.formats.avro_types import Node, avro_node
from heliograph.transforms.formats.codec import StoredSchema
from heliograph.transforms.schema import Schema

KIND = "AVRO"


class AvroCodec:
    """Reads and writes values of one Avro schema."""

    def __init__(self, node: Node, schema: Schema | None = None) -> None:
        self._node = node
        self._schema = schema or node.schema
        try:
            self._raw: Any = fastavro.parse_schema(node.raw)
        except (SchemaParseException, ValueError, TypeError, KeyError) as error:
            raise DataError(f"the Avro schema cannot be used: {error}") from None

    @classmethod
    def of_text(cls, text: str, references: Sequence[str] = ()) -> AvroCodec:
        """For a schema as a registry has it, and the texts of those that it refers to."""
        return cls(avro_node(_parsed(text), [_parsed(reference) for reference in references]))

    @property
    def schema(self) -> Schema:
        """The schema of its values in Kafka Connect's terms."""
        return self._schema

    def decode(self, data: bytes, at: int) -> tuple[Schema | None, Any]:
        """The value that begins there."""
        source = io.BytesIO(data)
        source.seek(at)
        try:
            value = fastavro.schemaless_reader(source, self._raw, None, return_named_type=True)
        except Exception as error:
            raise DataError(f"the bytes are no Avro of this schema: {type(error).__name__}") from None
        return self._schema, value if self._node.decode is None else self._node.decode(value)

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""
        target = io.BytesIO()
        try:
            fastavro.schemaless_writer(target, self._raw, self._node.encode(value))
        except DataError as error:
            raise DataError(f"the value does not fit its Avro schema: {error}") from None
        except Exception as error:
            raise DataError(f"the value does not fit its Avro schema: {type(error).__name__}") from None
        return target.getvalue()


def new_avro(schema: Schema) -> tuple[StoredSchema, AvroCodec]:
    """What to register for values of a schema that no registry knows yet, and how to write them."""
    definition = avro_definition(schema)
    text = json.dumps(definition, separators=(",", ":"), ensure_ascii=False)
    return StoredSchema(KIND, text), AvroCodec(avro_node(definition), schema)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()  # a primitive type may stand without quotes
