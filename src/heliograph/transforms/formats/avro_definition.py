"""The Avro schema that a schema of Kafka Connect becomes, as Confluent's AvroData makes it.

Unlike AvroData in its default mode, enums stay enums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from heliograph.errors import DataError
from heliograph.transforms.formats import avro_names as words
from heliograph.transforms.formats import logical
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct

_SIMPLE: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}


def avro_definition(schema: Schema) -> Any:
    """The Avro schema as JSON; DataError if there is none."""
    return _Writer().definition(schema)


class _Writer:
    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}
        self._unnamed = 0

    def definition(self, schema: Schema) -> Any:
        if schema.name == words.UNION:
            types = [self._base(replace(field.schema, is_optional=False), field.name) for field in schema.fields]
            return ["null", *types] if schema.is_optional else types
        base = self._base(replace(schema, is_optional=False))
        if not schema.is_optional:
            return base
        return ["null", base] if schema.default is None else [base, "null"]

    def _base(self, schema: Schema, branch: str | None = None) -> Any:
        if schema.type is Type.STRUCT:
            return self._record(schema)
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            return self._described({"type": "array", "items": self.definition(schema.value_schema)}, schema)
        if schema.type is Type.MAP:
            return self._map(schema)
        if words.ENUM in schema.parameters:
            return self._enum(schema)
        if words.FIXED_SIZE in schema.parameters and schema.name is not None:
            return self._fixed(schema, branch)
        described = self._described({"type": _SIMPLE[schema.type]}, schema)
        return described["type"] if len(described) == 1 else described

    def _record(self, schema: Schema) -> Any:
        name = self._name(schema)
        if self._is_repeated(name, schema):
            return name
        record = {"type": "record", "name": name}
        if words.RECORD_DOC in schema.parameters:
            record["doc"] = schema.parameters[words.RECORD_DOC]
        docs = {item.name: schema.parameters.get(words.FIELD_DOC + item.name) for item in schema.fields}
        return self._described(record | {"fields": [self._field(i, docs[i.name]) for i in schema.fields]}, schema)

    def _field(self, item: Field, doc: str | None = None) -> dict[str, Any]:
        avro: dict[str, Any] = {"name": item.name, "type": self.definition(item.schema)}
        if doc is not None:
            avro["doc"] = doc
        if item.schema.default is not None:
            avro["default"] = _default(item.schema, item.schema.default)
        elif item.schema.is_optional:
            avro["default"] = None
        return avro

    def _map(self, schema: Schema) -> Any:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if _has_text_keys(schema):
            return self._described({"type": "map", "values": self.definition(schema.value_schema)}, schema)
        fields = [self._field(Field("key", schema.key_schema)), self._field(Field("value", schema.value_schema))]
        name = schema.name or f"{words.NAMESPACE}.{words.MAP_ENTRY}"
        entry: Any = {"type": "record", "name": name, words.CONNECT_INTERNAL_TYPE: words.MAP_ENTRY, "fields": fields}
        if self._is_repeated(name, Schema(Type.MAP, key_schema=schema.key_schema, value_schema=schema.value_schema)):
            entry = name
        return self._described({"type": "array", "items": entry}, schema)

    def _enum(self, schema: Schema) -> Any:
        name = schema.parameters[words.ENUM]
        if self._is_repeated(name, schema):
            return name
        prefix, short = f"{words.ENUM}.", name.rpartition(".")[2]
        symbols = [key.removeprefix(prefix) for key in schema.parameters if key.startswith(prefix)]
        told = {
            "doc": schema.parameters.get(words.ENUM_DOC + short),
            "default": schema.parameters.get(words.ENUM_DEFAULT + short),
        }
        enum = {"type": "enum", "name": name, "symbols": symbols}
        return self._described(enum | {key: text for key, text in told.items() if text is not None}, schema)

    def _fixed(self, schema: Schema, branch: str | None) -> Any:
        size = int(schema.parameters[words.FIXED_SIZE])
        name = branch or _decimal_name(schema, size) if schema.name == DECIMAL else self._name(schema)
        if self._is_repeated(name, schema):
            return name
        return self._described({"type": "fixed", "name": name, "size": size}, schema)

    def _name(self, schema: Schema) -> str:
        if schema.name is not None:
            return schema.name
        self._unnamed += 1
        return f"{words.NAMESPACE}.{words.DEFAULT_NAME}{self._unnamed if self._unnamed > 1 else ''}"

    def _is_repeated(self, name: str, schema: Schema) -> bool:
        """Whether the name was defined before; a name has one meaning only."""
        comparable = replace(schema, default=None, parameters=_without_flags(schema.parameters))
        known = self._named.setdefault(name, comparable)
        if known is comparable:
            return False
        if known != comparable:
            raise DataError(f"two different schemas are called {name}, which Avro does not allow")
        return True

    def _described(self, avro: dict[str, Any], schema: Schema) -> dict[str, Any]:
        """The definition with properties for what Avro has no word for."""
        parameters = _without_flags(schema.parameters)
        meaning = _LOGICAL.get(schema.name or "") or parameters.pop(words.OTHER_LOGICAL_TYPE, None)
        told = {
            words.CONNECT_DOC: schema.doc,
            words.CONNECT_VERSION: schema.version,
            words.CONNECT_PARAMETERS: parameters or None,
            words.CONNECT_DEFAULT: self._connect_default(schema),
            words.CONNECT_NAME: schema.name,
            words.CONNECT_TYPE: schema.type.value if schema.type in (Type.INT8, Type.INT16) else None,
            "logicalType": meaning,
        }
        described = avro | {key: value for key, value in told.items() if value is not None}
        if schema.name == DECIMAL:
            described |= _decimal(schema)
        return described | {key: text for key, text in parameters.items() if key.startswith(words.AVRO_PROPERTY)}

    def _connect_default(self, schema: Schema) -> Any:
        if schema.default is None or words.FIELD_DEFAULT in schema.parameters:
            return None
        return _default(schema, schema.default)


def _without_flags(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key: text for key, text in parameters.items() if key != words.FIELD_DEFAULT}


def _decimal_name(schema: Schema, size: int) -> str:
    """All decimals have one name in Kafka Connect, but Avro wants another one for each fixed type."""
    precision = schema.parameters.get(words.PRECISION, words.DEFAULT_PRECISION)
    return f"{words.NAMESPACE}.Decimal_{size}_{precision}_{logical.scale_of(schema)}"


def _decimal(schema: Schema) -> dict[str, Any]:
    scale, precision = logical.scale_of(schema), int(schema.parameters.get(words.PRECISION, words.DEFAULT_PRECISION))
    return {"scale": scale, "precision": precision, "logicalType": "decimal"}


def _has_text_keys(schema: Schema) -> bool:
    key = schema.key_schema
    return key is not None and key.type is Type.STRING and not key.is_optional


def _default(schema: Schema, value: Any) -> Any:
    """A default as JSON has it in Avro's schemas."""
    if value is None:
        return None
    if isinstance(value, Instant):
        return logical.days_of(value) if schema.name == DATE else value.ms
    if isinstance(value, Decimal) and schema.name == DECIMAL:
        return logical.decimal_to_bytes(value, logical.scale_of(schema)).decode("latin-1")
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list) and schema.value_schema is not None:
        return [_default(schema.value_schema, item) for item in value]
    if isinstance(value, dict) and schema.key_schema is not None and schema.value_schema is not None:
        pairs = [(_default(schema.key_schema, k), _default(schema.value_schema, v)) for k, v in value.items()]
        return dict(pairs) if _has_text_keys(schema) else [list(pair) for pair in pairs]
    if isinstance(value, Struct):
        return _struct_default(schema, value)
    return value


def _struct_default(schema: Schema, value: Struct) -> Any:
    fields = {item.name: _default(item.schema, value.get(item.name)) for item in schema.fields}
    if schema.name == words.UNION:
        return next((item for item in fields.values() if item is not None), None)
    return fields
