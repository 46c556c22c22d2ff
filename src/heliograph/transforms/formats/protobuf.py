"""Protobuf messages of one schema, read and written by way of their descriptors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import message_factory  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]

from heliograph.errors import DataError
from heliograph.transforms.formats import wire
from heliograph.transforms.formats.codec import StoredSchema
from heliograph.transforms.formats.protobuf_definition import protobuf_definition
from heliograph.transforms.formats.protobuf_files import message_descriptor
from heliograph.transforms.formats.protobuf_types import message_element
from heliograph.transforms.schema import Schema

KIND = "PROTOBUF"


class ProtobufCodec:
    """Reads and writes one message of a .proto file."""

    def __init__(
        self, text: str, references: Mapping[str, str], indexes: tuple[int, ...], schema: Schema | None = None
    ) -> None:
        descriptor = message_descriptor(text, references, indexes)
        element = message_element(descriptor)
        assert element.read is not None
        assert element.fill is not None
        self._schema = schema or element.schema
        self._read, self._fill = element.read, element.fill
        self._message = message_factory.GetMessageClass(descriptor)
        self._indexes = wire.write_indexes(indexes)

    @property
    def schema(self) -> Schema:
        """The schema of its values in Kafka Connect's terms."""
        return self._schema

    def decode(self, data: bytes, at: int) -> tuple[Schema | None, Any]:
        """The message that begins there."""
        try:
            return self._schema, self._read(self._message.FromString(data[at:]))
        except DecodeError:
            raise DataError("the bytes are no Protobuf message of this schema") from None

    def encode(self, value: Any) -> bytes:
        """The bytes of a message, behind those that say which one it is."""
        message = self._message()
        try:
            self._fill(value, message)
            return self._indexes + bytes(message.SerializeToString())
        except DataError as error:
            raise DataError(f"the value does not fit its Protobuf schema: {error}") from None
        except (EncodeError, TypeError, ValueError):
            raise DataError("the value does not fit its Protobuf schema: a field is missing or wrong") from None


def new_protobuf(schema: Schema) -> tuple[StoredSchema, ProtobufCodec]:
    """What to register for values of a schema that no registry knows yet, and how to write them."""
    text, indexes = protobuf_definition(schema)
    return StoredSchema(KIND, text), ProtobufCodec(text, {}, indexes, schema)
