"""The words with which Confluent's AvroData carries Kafka Connect's schemas through Avro and back."""

from __future__ import annotations

from typing import Any, Final

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = "ConnectDefault"
MAP_ENTRY: Final = "MapEntry"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
DEFAULT_PRECISION: Final = 64
CONNECT_NAME: Final = "connect.name"
CONNECT_DOC: Final = "connect.doc"
CONNECT_VERSION: Final = "connect.version"
CONNECT_PARAMETERS: Final = "connect.parameters"
CONNECT_DEFAULT: Final = "connect.default"
CONNECT_TYPE: Final = "connect.type"
CONNECT_INTERNAL_TYPE: Final = "connect.internal.type"
OTHER_LOGICAL_TYPE: Final = "io.heliograph.avro.logicalType"  # one that Connect has no word for, so that it is kept
AVRO_PROPERTY: Final = "avro"  # properties that begin so become parameters

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMED: Final = ("record", "error", "enum", "fixed")


def full_name(definition: dict[str, Any], enclosing: str) -> str:
    """The name of a record, enum or fixed with its namespace."""
    name = str(definition.get("name", ""))
    namespace = namespace_of(definition, enclosing)
    return name if "." in name or not namespace else f"{namespace}.{name}"


def namespace_of(definition: dict[str, Any], enclosing: str) -> str:
    """The namespace in which the names inside a definition stand."""
    name = str(definition.get("name", ""))
    if "." in name:
        return name.rpartition(".")[0]
    return str(definition["namespace"] or "") if "namespace" in definition else enclosing
