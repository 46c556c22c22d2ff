"""JSON of one JSON Schema; what is too special for Kafka Connect's schemas is read and written without one."""

from __future__ import annotations

import json
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.formats.codec import StoredSchema
from heliograph.transforms.formats.json_schema_definition import json_schema_definition
from heliograph.transforms.formats.json_schema_types import Node, NotSimple, Unfit, json_schema_node
from heliograph.transforms.formats.json_text import read_plain, write_plain
from heliograph.transforms.schema import Schema, Type
from heliograph.transforms.struct import Struct

KIND = "JSON"


class JsonSchemaCodec:
    """Reads and writes values of one JSON Schema."""

    def __init__(self, node: Node | None, schema: Schema | None = None) -> None:
        self._node = node
        self._schema = schema or (node.schema if node else None)

    @classmethod
    def of_text(cls, text: str) -> JsonSchemaCodec:
        """For a schema as a registry has it."""
        try:
            return cls(json_schema_node(json.loads(text)))
        except (NotSimple, TypeError, AttributeError):
            return cls(None)
        except ValueError:
            raise DataError("the JSON Schema is not JSON") from None

    @property
    def schema(self) -> Schema | None:
        """The schema of its values in Kafka Connect's terms, if it has one."""
        return self._schema

    def decode(self, data: bytes, at: int) -> tuple[Schema | None, Any]:
        """The value that begins there; without schema where it would lose something by it."""
        value = read_plain(data[at:])
        if self._node is None:
            return None, value
        try:
            return self._schema, self._node.read(value)
        except Unfit:
            return None, value

    def encode(self, value: Any) -> bytes:
        """The JSON of a value."""
        if self._node is None or (self._node.schema.type is Type.STRUCT and not isinstance(value, Struct)):
            return write_plain(value)
        try:
            return write_plain(self._node.write(value))
        except DataError as error:
            raise DataError(f"the value does not fit its JSON Schema: {error}") from None


def new_json_schema(schema: Schema) -> tuple[StoredSchema, JsonSchemaCodec]:
    """What to register for values of a schema that no registry knows yet, and how to write them."""
    definition = json_schema_definition(schema)
    text = json.dumps(definition, separators=(",", ":"), ensure_ascii=False)
    return StoredSchema(KIND, text), JsonSchemaCodec(json_schema_node(definition), schema)
