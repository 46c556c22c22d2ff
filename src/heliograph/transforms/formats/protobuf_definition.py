"""The .proto text that a schema of Kafka Connect becomes: one message, with all others nested where they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from heliograph.errors import DataError
from heliograph.transforms.formats import logical
from heliograph.transforms.formats import protobuf_names as words
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Schema, Type

_IMPORTS: Final = {
    words.DECIMAL: "confluent/type/decimal.proto",
    words.DATE: "google/type/date.proto",
    words.TIME: "google/type/timeofday.proto",
    words.TIMESTAMP: "google/protobuf/timestamp.proto",
    **dict.fromkeys(words.WRAPPERS, "google/protobuf/wrappers.proto"),
}
_META: Final = "confluent/meta.proto"
_LOGICAL: Final = {DECIMAL: words.DECIMAL, DATE: words.DATE, TIME: words.TIME, TIMESTAMP: words.TIMESTAMP}
_WRAPPER_OF: Final = {scalar: name for name, scalar in words.WRAPPERS.items()}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED_TAGS: Final = range(19_000, 20_000)
_KEY_TYPES: Final = (Type.STRING, Type.BOOLEAN, Type.INT8, Type.INT16, Type.INT32, Type.INT64)


def protobuf_definition(schema: Schema) -> tuple[str, tuple[int, ...]]:
    """The text of a file, and which of its messages it is; DataError if Protobuf has nothing like it."""
    if schema.type is Type.STRUCT:
        return _Writer().file(schema), (0,)
    if schema.type in words.USUAL and schema.name not in _LOGICAL:
        scalar = _scalar(schema)
        return _wrappers_file(), (list(words.WRAPPERS.values()).index(_unwrapped(scalar)),)
    raise DataError(f"Protobuf has no message that is only {schema.type.value}")


class _Writer:
    def __init__(self) -> None:
        self._imports: set[str] = set()
        self._unnamed = 0

    def file(self, schema: Schema) -> str:
        full_name = schema.name or self._default_name()
        package, _, name = full_name.rpartition(".")
        message = self._message(schema, _checked(name), "")
        head = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
        return "\n".join([*head, *(f'import "{path}";' for path in sorted(self._imports)), "", *message, ""])

    def _message(self, schema: Schema, name: str, indent: str) -> list[str]:
        nested: dict[str, tuple[Schema, list[str]]] = {}
        tags = _tags(schema)
        lines = []
        for field in schema.fields:
            if _is_union(field.schema):
                lines += [f"oneof {_checked(_oneof_name(field.schema))} {{"]
                lines += [
                    "  " + self._field(item, tags[item.name], nested, in_oneof=True) for item in field.schema.fields
                ]
                lines += ["}"]
            else:
                lines.append(self._field(field, tags[field.name], nested))
        inner = [line for _, definition in nested.values() for line in definition]
        return [f"{indent}message {name} {{", *(f"  {line}" for line in (*lines, *inner)), f"{indent}}}"]

    def _field(
        self, field: Field, tag: int, nested: dict[str, tuple[Schema, list[str]]], in_oneof: bool = False
    ) -> str:
        schema = field.schema
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            kind = f"repeated {self._type(schema.value_schema, field.name, nested)}"
            options = self._options(schema.value_schema)
        elif schema.type is Type.MAP:
            kind, options = self._map(schema, field.name, nested), ""
        else:
            kind, options = self._type(schema, field.name, nested), self._options(schema)
            if schema.is_optional and not in_oneof and "." not in kind:
                kind = f"optional {kind}"
        return f"{kind} {_checked(field.name)} = {tag}{options};"

    def _map(self, schema: Schema, name: str, nested: dict[str, tuple[Schema, list[str]]]) -> str:
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        if schema.key_schema.type not in _KEY_TYPES:
            raise DataError(f"field {name}: Protobuf has no maps with keys of the type {schema.key_schema.type.value}")
        return f"map<{_scalar(schema.key_schema)}, {self._type(schema.value_schema, name, nested)}>"

    def _type(self, schema: Schema, field: str, nested: dict[str, tuple[Schema, list[str]]]) -> str:
        if schema.name in _LOGICAL:
            return self._imported(_LOGICAL[schema.name])
        if schema.type is Type.STRUCT:
            return self._nested(schema, field, nested, self._struct_name(schema, field))
        if schema.type in (Type.ARRAY, Type.MAP):
            raise DataError(f"field {field}: Protobuf has no lists or maps within lists or maps")
        if words.ENUM in schema.parameters:
            return self._nested(schema, field, nested, _checked(schema.parameters[words.ENUM]))
        scalar = _scalar(schema)
        return self._imported(_WRAPPER_OF[_unwrapped(scalar)]) if words.WRAPPER in schema.parameters else scalar

    def _imported(self, name: str) -> str:
        self._imports.add(_IMPORTS[name])
        return name

    def _nested(self, schema: Schema, field: str, nested: dict[str, tuple[Schema, list[str]]], name: str) -> str:
        comparable = replace(schema, is_optional=False, default=None, parameters=_without_tag(schema))
        if name not in nested:
            is_enum = schema.type is Type.STRING
            nested[name] = (comparable, _enum(schema, name) if is_enum else self._message(schema, name, ""))
        elif nested[name][0] != comparable:
            raise DataError(f"field {field}: two different schemas are called {name}")
        return name

    def _struct_name(self, schema: Schema, field: str) -> str:
        name = _checked((schema.name or self._default_name()).rpartition(".")[2])
        return f"{name}Message" if name == field else name

    def _default_name(self) -> str:
        self._unnamed += 1
        return f"{words.DEFAULT_NAME}{self._unnamed}"

    def _options(self, schema: Schema) -> str:
        """What Protobuf has no word for, as Confluent annotates it."""
        told = {}
        if schema.type in (Type.INT8, Type.INT16):
            told[words.CONNECT_TYPE] = schema.type.value
        if schema.name == DECIMAL:
            told["scale"] = str(logical.scale_of(schema))
            if words.PRECISION in schema.parameters:
                told["precision"] = schema.parameters[words.PRECISION]
        if not told:
            return ""
        self._imports.add(_META)
        parameters = ", ".join(f'{{key: "{key}", value: "{value}"}}' for key, value in told.items())
        return f" [(confluent.field_meta) = {{params: [{parameters}]}}]"


def _tags(schema: Schema) -> dict[str, int]:
    """The number of each field: its own if it has one, else one that nobody has."""
    fields = [item for field in schema.fields for item in _flat(field)]
    told = {
        field.name: int(field.schema.parameters[words.TAG]) for field in fields if words.TAG in field.schema.parameters
    }
    if len(set(told.values())) < len(told):
        told = {}  # fields of different messages have come together
    free = _numbers(max(told.values(), default=0) + 1)
    return {field.name: told[field.name] if field.name in told else next(free) for field in fields}


def _flat(field: Field) -> Sequence[Field]:
    return field.schema.fields if _is_union(field.schema) else (field,)


def _numbers(first: int) -> Iterator[int]:
    number = first
    while True:
        if number not in _RESERVED_TAGS:
            yield number
        number += 1


def _is_union(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and (schema.name or "").startswith(words.UNION)


def _oneof_name(schema: Schema) -> str:
    return (schema.name or "").rpartition(".")[2]


def _scalar(schema: Schema) -> str:
    usual = words.USUAL[schema.type]
    told = schema.parameters.get(words.TYPE, usual)
    return told if words.SCALARS.get(told) == words.SCALARS[usual] else usual


def _unwrapped(scalar: str) -> str:
    """The one of the wrapped types that has the same values."""
    return {"sint32": "int32", "sfixed32": "int32", "sint64": "int64", "sfixed64": "int64"}.get(
        scalar, scalar.replace("fixed", "uint")
    )


def _without_tag(schema: Schema) -> dict[str, str]:
    return {key: text for key, text in schema.parameters.items() if key != words.TAG}


def _enum(schema: Schema, name: str) -> list[str]:
    prefix = f"{words.ENUM}."
    symbols = {key.removeprefix(prefix): int(v) for key, v in schema.parameters.items() if key.startswith(prefix)}
    ordered = sorted(symbols.items(), key=lambda item: item[1] != 0)  # the first must be 0
    alias = ["  option allow_alias = true;"] if len(set(symbols.values())) < len(symbols) else []
    return [f"enum {name} {{", *alias, *(f"  {_checked(symbol)} = {number};" for symbol, number in ordered), "}"]


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise DataError(f"Protobuf does not allow the name {name}")
    return name


def _wrappers_file() -> str:
    lines = ['syntax = "proto3";', "package google.protobuf;", ""]
    lines += [f"message {name.rpartition('.')[2]} {{ {kind} value = 1; }}" for name, kind in words.WRAPPERS.items()]
    return "\n".join([*lines, ""])
