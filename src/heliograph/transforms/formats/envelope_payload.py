"""Values with a schema in Connect's JSON: how each type is read and written, as `JsonConverter` does.

Readers are as forgiving as Java's: a number where text should be is null, text where a number should be is 0.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from math import isfinite
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.formats.logical import DAY_MS, days_of, decimal_from_bytes, decimal_to_bytes, scale_of
from heliograph.transforms.java_numbers import (
    decimal_to_float32,
    double_text,
    shortest_float32,
    to_double,
    to_float32,
    whole,
    wrap,
)
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Instant, Schema, Type
from heliograph.transforms.struct import Struct

Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]

_INT_BITS = 32
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_HASHABLE = frozenset(Type) - {Type.ARRAY, Type.MAP, Type.STRUCT}
_LOGICAL = frozenset((DECIMAL, DATE, TIME, TIMESTAMP))


def payload_reader(schema: Schema) -> Reader:
    """What reads values of a schema from JSON."""
    read = _logical_reader(schema) if schema.name in _LOGICAL else _plain_reader(schema)
    default, is_optional, type_name = schema.default, schema.is_optional, schema.type.value

    def read_or_null(node: Any) -> Any:
        if node is None:
            if default is not None:
                return default
            if is_optional:
                return None
            raise DataError(f"null for a required {type_name}")
        value = read(node)
        if value is None and not is_optional:
            raise DataError(f"a required {type_name} is something else")
        return value

    return read_or_null


def payload_writer(schema: Schema, decimals_as_numbers: bool = False) -> Writer:
    """What turns values of a schema into JSON, for the encoder of plain JSON."""
    if schema.name in _LOGICAL:
        write = _logical_writer(schema, decimals_as_numbers)
    else:
        write = _plain_writer(schema, decimals_as_numbers)
    default, is_optional, type_name = schema.default, schema.is_optional, schema.type.value
    default_node = None if default is None else write(default)

    def write_or_null(value: Any) -> Any:
        if value is not None:
            return write(value)
        if default is not None or is_optional:
            return default_node
        raise DataError(f"null for a required {type_name}")

    return write_or_null


def _plain_reader(schema: Schema) -> Reader:
    if schema.type in _BITS:
        return _integer_reader(_BITS[schema.type])
    if schema.type is Type.ARRAY:
        return _array_reader(schema)
    if schema.type is Type.MAP:
        return _map_reader(schema)
    return _struct_reader(schema) if schema.type is Type.STRUCT else _SCALAR_READERS[schema.type]


def _integer_reader(bits: int) -> Reader:
    half = 1 << (bits - 1)
    width = 64 if bits == 64 else _INT_BITS

    def read(node: Any) -> int:
        if type(node) is int and -half <= node < half:
            return node
        return wrap(wrap(_whole(node), width), bits)

    return read


def _whole(node: Any) -> int:
    if type(node) is float:
        return whole(Decimal(repr(node)))
    if type(node) is Decimal:
        return whole(node)
    return node if type(node) is int else 0


def _read_double(node: Any) -> float:
    kind = type(node)
    if kind is float:
        return float(node)
    return to_double(node) if kind is int or kind is Decimal else 0.0


def _read_float(node: Any) -> float:
    kind = type(node)
    if kind is float:
        return decimal_to_float32(Decimal(repr(node)))
    return decimal_to_float32(Decimal(node)) if kind is int or kind is Decimal else 0.0


def _read_bytes(node: Any) -> bytes | None:
    if type(node) is not str:
        return None
    try:
        return b64decode("".join(node.split()), validate=True)
    except (binascii.Error, ValueError):
        raise DataError("bytes are not base64") from None


_SCALAR_READERS: dict[Type, Reader] = {
    Type.BOOLEAN: lambda node: node is True,
    Type.FLOAT32: _read_float,
    Type.FLOAT64: _read_double,
    Type.STRING: lambda node: node if type(node) is str else None,
    Type.BYTES: _read_bytes,
}


def _array_reader(schema: Schema) -> Reader:
    assert schema.value_schema is not None
    read_item = payload_reader(schema.value_schema)

    def read(node: Any) -> list[Any]:
        if isinstance(node, dict):
            return list(map(read_item, node.values()))
        return list(map(read_item, node)) if isinstance(node, list) else []

    return read


def _map_reader(schema: Schema) -> Reader:
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    read_key, read_item = payload_reader(schema.key_schema), payload_reader(schema.value_schema)
    if schema.key_schema.type not in _HASHABLE:
        return _refuse_map_keys

    def read_object(node: Any) -> dict[str, Any]:
        if not isinstance(node, dict):
            raise DataError("a map with text as keys is not a JSON object")
        return {name: read_item(item) for name, item in node.items()}

    def read_pairs(node: Any) -> dict[Any, Any]:
        if not isinstance(node, list):
            raise DataError("a map with other keys than text is not a JSON list of pairs")
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in node):
            raise DataError("an entry of a map is not a pair of key and value")
        return {read_key(name): read_item(item) for name, item in node}

    return read_object if schema.key_schema.type is Type.STRING else read_pairs


def _refuse_map_keys(_node: Any) -> Any:
    raise DataError("maps whose keys are lists, maps or structs are not supported")


def _struct_reader(schema: Schema) -> Reader:
    readers = [(field.name, payload_reader(field.schema)) for field in schema.fields]

    def read(node: Any) -> Struct:
        if type(node) is not dict:
            raise DataError("a struct is not a JSON object")
        struct = Struct(schema)
        values, get = struct.values, node.get
        name = ""
        try:
            for name, read_field in readers:
                values[name] = read_field(get(name))
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        return struct

    return read


def _logical_reader(schema: Schema) -> Reader:
    if schema.name == DECIMAL:
        return lambda node: _read_decimal(schema, node)
    return {DATE: _read_date, TIME: _read_time, TIMESTAMP: _read_timestamp}[schema.name or ""]


def _read_decimal(schema: Schema, node: Any) -> Decimal:
    if isinstance(node, str):
        data = _read_bytes(node)
        if not data:
            raise DataError("a decimal has no bytes")
        return decimal_from_bytes(data, scale_of(schema))
    if type(node) is float:
        return Decimal(repr(node))
    if type(node) is int or type(node) is Decimal:
        return Decimal(node)
    raise DataError("a decimal is neither a number nor bytes")


def _read_date(node: Any) -> Instant:
    return Instant(_read_int(node, "date") * DAY_MS)


def _read_time(node: Any) -> Instant:
    ms = _read_int(node, "time")
    if not 0 <= ms <= DAY_MS:
        raise DataError("a time is not within a day")
    return Instant(ms)


def _read_timestamp(node: Any) -> Instant:
    if type(node) is not int:
        raise DataError("a timestamp is not a whole number")
    return Instant(wrap(node, 64))


def _read_int(node: Any, what: str) -> int:
    if type(node) is not int or wrap(node, _INT_BITS) != node:
        raise DataError(f"a {what} is not a whole number of 32 bits")
    return node


def _plain_writer(schema: Schema, decimals_as_numbers: bool) -> Writer:
    if schema.type is Type.ARRAY:
        return _array_writer(schema, decimals_as_numbers)
    if schema.type is Type.MAP:
        return _map_writer(schema, decimals_as_numbers)
    if schema.type is Type.STRUCT:
        return _struct_writer(schema, decimals_as_numbers)
    if schema.type is Type.FLOAT32:
        return _write_float
    if schema.type is Type.FLOAT64:
        return _write_double
    return _checked(_PYTHON_TYPES[schema.type], schema.type.value)


_PYTHON_TYPES: dict[Type, type] = {
    **dict.fromkeys(_BITS, int),
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: bytes,
}


def _checked(python_type: type, type_name: str) -> Writer:
    def write(value: Any) -> Any:
        if type(value) is python_type:
            return value
        raise DataError(f"not a value of type {type_name}")

    return write


def _write_double(value: Any) -> Any:
    kind = type(value)
    if kind is float:
        return value if isfinite(value) else double_text(value)
    if kind is Decimal:
        return value
    raise DataError("not a value of type double")


def _write_float(value: Any) -> Any:
    if type(value) is not float:
        raise DataError("not a value of type float")
    narrow = to_float32(value)
    return shortest_float32(narrow) if isfinite(narrow) else double_text(narrow)


def _array_writer(schema: Schema, decimals_as_numbers: bool) -> Writer:
    assert schema.value_schema is not None
    write_item = payload_writer(schema.value_schema, decimals_as_numbers)

    def write(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise DataError("not a value of type array")
        return list(map(write_item, value))

    return write


def _map_writer(schema: Schema, decimals_as_numbers: bool) -> Writer:
    assert schema.key_schema is not None
    assert schema.value_schema is not None
    write_key = payload_writer(schema.key_schema, decimals_as_numbers)
    write_item = payload_writer(schema.value_schema, decimals_as_numbers)
    has_text_keys = schema.key_schema.type is Type.STRING

    def write(value: Any) -> Any:
        if not isinstance(value, dict):
            raise DataError("not a value of type map")
        if has_text_keys:
            return {"null" if name is None else write_key(name): write_item(item) for name, item in value.items()}
        return [[write_key(name), write_item(item)] for name, item in value.items()]

    return write


def _struct_writer(schema: Schema, decimals_as_numbers: bool) -> Writer:
    writers = [(field.name, payload_writer(field.schema, decimals_as_numbers)) for field in schema.fields]

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not Struct:
            raise DataError("not a value of type struct")
        if value.schema is not schema and value.schema != schema:
            raise DataError("a struct has another schema than it should have")
        get = value.values.get
        node, name = {}, ""
        try:
            for name, write_field in writers:
                node[name] = write_field(get(name))
        except DataError as error:
            raise DataError(f"{name}: {error}") from None
        return node

    return write


def _logical_writer(schema: Schema, decimals_as_numbers: bool) -> Writer:
    if schema.name == DECIMAL:
        return _write_number if decimals_as_numbers else _decimal_writer(schema)
    return {DATE: _write_date, TIME: _write_time, TIMESTAMP: _write_timestamp}[schema.name or ""]


def _write_number(value: Any) -> Any:
    if type(value) is Decimal:
        return value
    raise DataError("not a decimal")


def _decimal_writer(schema: Schema) -> Writer:
    def write(value: Any) -> bytes:
        scale = scale_of(schema)
        exponent = _write_number(value).as_tuple().exponent
        if exponent != -scale:
            raise DataError(f"a decimal has not the {scale} digits behind the point that its schema says")
        return decimal_to_bytes(value, scale)

    return write


def _write_date(value: Any) -> int:
    return wrap(days_of(_instant(value)), _INT_BITS)


def _write_time(value: Any) -> int:
    ms = _instant(value).ms
    if not 0 <= ms <= DAY_MS:
        raise DataError("a time is not within a day")
    return ms


def _write_timestamp(value: Any) -> int:
    return _instant(value).ms


def _instant(value: Any) -> Instant:
    if type(value) is Instant:
        return value
    raise DataError("not a date, time or timestamp")
