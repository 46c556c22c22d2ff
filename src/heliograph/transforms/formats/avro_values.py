"""How values pass between fastavro and Kafka Connect: small functions, put together once per schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from heliograph.errors import DataError
from heliograph.transforms.formats import logical
from heliograph.transforms.schema import Instant, Schema, Type
from heliograph.transforms.struct import Struct

Convert: TypeAlias = Callable[[Any], Any]

_TAGS: Final[dict[type, str]] = {bool: "boolean", str: "string", bytes: "bytes", list: "array", dict: "map"}
_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


class FieldWriter(NamedTuple):
    """What is needed to write one field of a record."""

    name: str
    default: Any
    is_required: bool
    encode: Convert


class Branch(NamedTuple):
    """One type of a union: the field that holds it, what fastavro calls it, and how its values pass."""

    name: str
    tag: str
    decode: Convert
    encode: Convert


def as_is(value: Any) -> Any:
    """For values that are the same on both sides."""
    return value


def latin(text: str) -> bytes:
    """Bytes as Avro's defaults have them in JSON."""
    return text.encode("latin-1")


def wrong(value: Any, expected: str) -> DataError:
    """A value is not what its schema says; the value itself is not shown."""
    return DataError(f"expected {expected}, found {type(value).__name__}")


def as_dict(value: Any) -> dict[Any, Any]:
    """A map; DataError if it is none."""
    if not isinstance(value, dict):
        raise wrong(value, "a map")
    return value


def plain_encoder(kind: Type) -> Convert:
    """Checks values of a type that are written as they are."""
    if kind in _BITS:
        return _integer_encoder(_BITS[kind])
    if kind in (Type.FLOAT32, Type.FLOAT64):
        return _float_encoder
    return bytes_encoder(None) if kind is Type.BYTES else _kind_encoder(str if kind is Type.STRING else bool)


def _integer_encoder(bits: int) -> Convert:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def encode(value: Any) -> Any:
        if value.__class__ is int and lowest <= value <= highest:
            return value
        raise wrong(value, f"a whole number of {bits} bits")

    return encode


def _float_encoder(value: Any) -> Any:
    if value.__class__ is float:
        return value
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    raise wrong(value, "a number")


def _kind_encoder(kind: type) -> Convert:
    def encode(value: Any) -> Any:
        if value.__class__ is kind:
            return value
        raise wrong(value, "a text" if kind is str else "true or false")

    return encode


def bytes_encoder(size: int | None) -> Convert:
    """Checks bytes, and how many they are where that is fixed."""

    def encode(value: Any) -> bytes:
        if not isinstance(value, bytes):
            raise wrong(value, "bytes")
        if size is not None and len(value) != size:
            raise DataError(f"expected exactly {size} bytes, found {len(value)}")
        return value

    return encode


def symbol_encoder(symbols: frozenset[str]) -> Convert:
    """Checks that a text is one of an enum's symbols."""

    def encode(value: Any) -> Any:
        if not isinstance(value, str) or value not in symbols:
            raise DataError("it is none of the enum's symbols")
        return value

    return encode


def instant_encoder(underlying: Callable[[Instant], int]) -> Convert:
    """Writes a date, time or timestamp."""

    def encode(value: Any) -> int:
        if not isinstance(value, Instant):
            raise wrong(value, "a moment")
        return underlying(value)

    return encode


def decimal_decoder(scale: int) -> Convert:
    """Reads decimals of one scale."""
    return lambda data: logical.decimal_from_bytes(data, scale)


def decimal_encoder(scale: int, size: int | None) -> Convert:
    """Writes decimals of one scale."""

    def encode(value: Any) -> bytes:
        if not isinstance(value, Decimal):
            raise wrong(value, "a decimal")
        return logical.decimal_to_bytes(value, scale, size)

    return encode


def each(convert: Convert | None) -> Convert | None:
    """The same for all items of a list."""
    return None if convert is None else lambda values: [convert(value) for value in values]


def each_value(convert: Convert | None) -> Convert | None:
    """The same for all values of a map."""
    return None if convert is None else lambda values: {key: convert(value) for key, value in values.items()}


def list_encoder(item: Convert) -> Convert:
    """Writes arrays."""

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise wrong(value, "an array")
        return [item(element) for element in value]

    return encode


def map_encoder(item: Convert) -> Convert:
    """Writes maps from texts."""

    def encode(value: Any) -> dict[str, Any]:
        if not all(isinstance(key, str) for key in as_dict(value)):
            raise DataError("a map's keys must be texts")
        return {key: item(element) for key, element in value.items()}

    return encode


def record_decoder(schema: Schema, special: Sequence[tuple[str, Convert]]) -> Convert:
    """Reads records; `special` are the fields whose values are not the same on both sides."""

    def decode(values: dict[str, Any]) -> Struct:
        for name, convert in special:
            values[name] = convert(values[name])
        return Struct(schema, values)

    return decode


def record_encoder(fields: Sequence[FieldWriter]) -> Convert:
    """Writes structs; plain maps too, where the fields fit."""
    names = frozenset(field.name for field in fields)

    def encode(value: Any) -> dict[str, Any]:
        values = value.values if value.__class__ is Struct else _fitting(as_dict(value), names)
        output = {}
        name = ""
        try:
            for name, default, is_required, write in fields:
                given = values.get(name)
                if given is None and is_required:
                    if default is None:
                        raise DataError("it is null, but must not be")
                    given = default
                output[name] = write(given)
        except DataError as error:
            raise DataError(f"field {name}: {error}") from None
        return output

    return encode


def _fitting(values: dict[Any, Any], names: frozenset[str]) -> dict[Any, Any]:
    unknown = values.keys() - names
    if unknown:
        raise DataError(f"the schema has no field {min(map(str, unknown))}")
    return values


def nullable_decoder(decode: Convert | None, is_named: bool) -> Convert | None:
    """Reads what is optional; fastavro tells the name of a named type in a union."""
    read = decode or as_is
    if is_named:
        return lambda value: None if value is None else read(value[1])
    return None if decode is None else lambda value: None if value is None else read(value)


def nullable_encoder(encode: Convert, tag: str | None) -> Convert:
    """Writes what is optional; with a tag fastavro need not try which branch fits."""
    if tag is not None:
        return lambda value: None if value is None else (tag, encode(value))
    return lambda value: None if value is None else encode(value)


def union_decoder(schema: Schema, branches: Sequence[Branch]) -> Convert:
    """Reads a union of several types: a struct with one field set."""
    by_tag = {branch.tag: branch for branch in branches}

    def decode(value: Any) -> Struct | None:
        if value is None:
            return None
        tag, inner = value if value.__class__ is tuple else (_TAGS[type(value)], value)
        branch = by_tag[tag]
        return Struct(schema, {branch.name: branch.decode(inner)})

    return decode


def union_encoder(branches: Sequence[Branch], is_optional: bool) -> Convert:
    """Writes a union of several types: the first field that is set."""

    def encode(value: Any) -> Any:
        if value is not None:
            values = value.values if value.__class__ is Struct else as_dict(value)
            for branch in branches:
                if values.get(branch.name) is not None:
                    return (branch.tag, branch.encode(values[branch.name]))
        if is_optional:
            return None
        raise DataError("it has no value, but must have one")

    return encode
