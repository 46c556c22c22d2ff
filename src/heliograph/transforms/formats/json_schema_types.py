"""What a JSON Schema means in Kafka Connect's terms, as Confluent's JsonSchemaData sees it; simple ones only.

Keywords that Kafka Connect has no word for (patterns, limits, formats, …) ride along in a parameter of the schema, so
that a field that no transform has changed keeps them when a new schema must be made.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from heliograph.errors import DataError
from heliograph.transforms.formats import logical
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct

Convert: TypeAlias = Callable[[Any], Any]

KEYWORDS: Final = "io.heliograph.json.schema"  # the parameter that holds the other keywords
CONNECT_INDEX: Final = "connect.index"
CONNECT_TYPE: Final = "connect.type"
CONNECT_VERSION: Final = "connect.version"
CONNECT_PARAMETERS: Final = "connect.parameters"
_UNSUPPORTED: Final = ("$ref", "allOf", "not", "if", "patternProperties", "const", "dependencies", "prefixItems")
_STRUCTURE: Final = {
    "type",
    "title",
    "description",
    "properties",
    "required",
    "items",
    "oneOf",
    "anyOf",
    CONNECT_INDEX,
    CONNECT_TYPE,
    CONNECT_VERSION,
    CONNECT_PARAMETERS,
}
_LOGICAL: Final = {DATE: logical.DATE_SCHEMA, TIME: logical.TIME_SCHEMA, TIMESTAMP: logical.TIMESTAMP_SCHEMA}
_INTEGERS: Final = {"int8": Type.INT8, "int16": Type.INT16, "int32": Type.INT32, "int64": Type.INT64}
_FLOATS: Final = {"float32": Type.FLOAT32, "float64": Type.FLOAT64}
_BITS: Final = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


class NotSimple(DataError):
    """A schema that says more than Kafka Connect's can; its values have none then."""


class Unfit(DataError):
    """A value that has more, or something else, than its schema says."""


class Node(NamedTuple):
    """One type: its schema, how values are read from plain JSON and written to it, and whether null is one."""

    schema: Schema
    read: Convert
    write: Convert
    is_nullable: bool = False


def json_schema_node(document: Any) -> Node:
    """The meaning of a JSON Schema; NotSimple if it cannot be told in Kafka Connect's terms."""
    if not isinstance(document, dict) or any(word in document for word in _UNSUPPORTED):
        raise NotSimple("the JSON Schema says more than Kafka Connect's schemas can")
    choices = document.get("oneOf") or document.get("anyOf")
    if choices is not None:
        return _nullable(_only_choice(document, choices))
    kind = document.get("type")
    if isinstance(kind, list):
        types = [item for item in kind if item != "null"]
        if len(types) != 1:
            raise NotSimple("the JSON Schema allows several types for one value")
        node = json_schema_node({**document, "type": types[0]})
        return _nullable(node) if len(types) < len(kind) else node
    builder = _BUILDERS.get(str(kind))
    if builder is None:
        raise NotSimple("the JSON Schema does not say which type a value has")
    return _described(builder(document), document)


def _only_choice(document: Mapping[str, Any], choices: Any) -> Node:
    others = [item for item in choices if not (isinstance(item, dict) and item.get("type") == "null")]
    extra = {key: value for key, value in document.items() if key not in ("oneOf", "anyOf", CONNECT_INDEX)}
    if len(others) != 1 or len(choices) != 2 or not isinstance(others[0], dict):
        raise NotSimple("the JSON Schema allows several types for one value")
    return json_schema_node({**extra, **others[0]})


def _nullable(node: Node) -> Node:
    read, write = node.read, node.write
    return Node(
        logical.optional(node.schema),
        lambda value: None if value is None else read(value),
        lambda value: None if value is None else write(value),
        is_nullable=True,
    )


def _described(node: Node, document: Mapping[str, Any]) -> Node:
    default = _default(node, document)
    parameters = {**node.schema.parameters, **document.get(CONNECT_PARAMETERS, {})}
    kept = _kept(node.schema, document, default is not None)
    if kept:
        parameters[KEYWORDS] = json.dumps({"type": document["type"], **kept}, ensure_ascii=False)
    schema = replace(
        node.schema,
        name=node.schema.name or document.get("title"),
        version=document.get(CONNECT_VERSION, node.schema.version),
        doc=document.get("description"),
        default=default,
        parameters=parameters,
    )
    if schema.type is Type.STRUCT:
        return _struct_node(schema, node)
    return node._replace(schema=schema)


def _kept(schema: Schema, document: Mapping[str, Any], has_default: bool) -> dict[str, Any]:
    """The keywords that have no place in the schema."""
    kept = {key: value for key, value in document.items() if key not in _STRUCTURE}
    if has_default:
        del kept["default"]
    if schema.type is Type.MAP:
        kept.pop("additionalProperties", None)
    if schema.name == DECIMAL and document["type"] == "number":
        kept["type"] = "number"  # decimals may be texts, too
    return kept


def _default(node: Node, document: Mapping[str, Any]) -> Any:
    if document.get("default") is None or node.schema.type is Type.STRUCT:
        return None
    try:
        return node.read(document["default"])
    except DataError:
        return None


def _string(document: Mapping[str, Any]) -> Node:
    if document.get("title") == DECIMAL:
        return _decimal(document, lambda value, scale: b64encode(logical.decimal_to_bytes(value, scale)).decode())
    if document.get(CONNECT_TYPE) == "bytes":
        return Node(Schema(Type.BYTES), _read_bytes, lambda value: b64encode(_of(value, bytes)).decode())
    return Node(Schema(Type.STRING), lambda value: _of(value, str), lambda value: _of(value, str))


def _integer(document: Mapping[str, Any]) -> Node:
    name = str(document.get("title"))
    if name in _LOGICAL:
        return Node(_LOGICAL[name], *_moment(name))
    type_ = _INTEGERS.get(str(document.get(CONNECT_TYPE, "int64")))
    if type_ is None:
        raise NotSimple("the JSON Schema has a whole number of an unknown size")
    convert = _whole(_BITS[type_])
    return Node(Schema(type_), convert, convert)


def _number(document: Mapping[str, Any]) -> Node:
    if document.get("title") == DECIMAL:
        return _decimal(document, lambda value, scale: value)
    type_ = _FLOATS.get(str(document.get(CONNECT_TYPE, "float64")))
    if type_ is None:
        raise NotSimple("the JSON Schema has a number of an unknown size")
    return Node(Schema(type_), _float, lambda value: float(_of(value, float, int, Decimal)))


def _boolean(document: Mapping[str, Any]) -> Node:
    return Node(Schema(Type.BOOLEAN), lambda value: _of(value, bool), lambda value: _of(value, bool))


def _array(document: Mapping[str, Any]) -> Node:
    if document.get(CONNECT_TYPE) == "map":
        raise NotSimple("the JSON Schema has a map whose keys are no texts")
    item = json_schema_node(document.get("items"))
    read, write = item.read, item.write
    return Node(
        Schema(Type.ARRAY, value_schema=item.schema),
        lambda value: [read(element) for element in _of(value, list)],
        lambda value: [write(element) for element in _of(value, list)],
    )


def _object(document: Mapping[str, Any]) -> Node:
    properties, others = document.get("properties"), document.get("additionalProperties")
    if not properties and isinstance(others, dict) and others:
        return _map(json_schema_node(others))
    if not isinstance(properties, dict) or isinstance(others, dict):
        raise NotSimple("the JSON Schema does not say which fields an object has")
    required = document.get("required", ())
    ordered = sorted(properties.items(), key=_index)
    nodes = {name: _field_node(json_schema_node(item), name in required) for name, item in ordered}
    schema = Schema(Type.STRUCT, fields=tuple(Field(name, node.schema) for name, node in nodes.items()))
    return Node(schema, _struct_reader(nodes, frozenset(required)), _struct_writer(nodes))


def _map(item: Node) -> Node:
    read, write = item.read, item.write
    return Node(
        Schema(Type.MAP, key_schema=Schema(Type.STRING), value_schema=item.schema),
        lambda value: {key: read(element) for key, element in _of(value, dict).items()},
        lambda value: {_of(key, str): write(element) for key, element in _of(value, dict).items()},
    )


_BUILDERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Node]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}


def _index(item: tuple[str, Any]) -> int:
    index = item[1].get(CONNECT_INDEX, 0) if isinstance(item[1], dict) else 0
    return index if isinstance(index, int) else 0


def _field_node(node: Node, is_required: bool) -> Node:
    return node if is_required else node._replace(schema=logical.optional(node.schema))


def _struct_node(schema: Schema, node: Node) -> Node:
    read = node.read
    return node._replace(schema=schema, read=lambda value: Struct(schema, read(value)))


def _struct_reader(nodes: Mapping[str, Node], required: frozenset[str]) -> Convert:
    readers = {name: node.read for name, node in nodes.items()}

    def read(value: Any) -> dict[str, Any]:
        given = _of(value, dict)
        if not required <= given.keys():
            raise Unfit("a field is missing")
        try:
            return {name: readers[name](item) for name, item in given.items()}
        except KeyError:
            raise Unfit("an object has a field that its schema does not know") from None

    return read


def _struct_writer(nodes: Mapping[str, Node]) -> Convert:
    writers = [(name, node.write, node.is_nullable) for name, node in nodes.items()]

    def write(value: Any) -> dict[str, Any]:
        given = value.values if isinstance(value, Struct) else _of(value, dict)
        output = {}
        name = ""
        try:
            for name, convert, is_nullable in writers:
                if given.get(name) is not None or (is_nullable and name in given):
                    output[name] = convert(given[name])
        except DataError as error:
            raise DataError(f"field {name}: {error}") from None
        return output

    return write


def _of(value: Any, *kinds: type) -> Any:
    if type(value) in kinds:
        return value
    raise Unfit(f"expected {kinds[0].__name__}, found {type(value).__name__}")


def _whole(bits: int) -> Convert:
    lowest, highest = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(value: Any) -> int:
        if type(value) is int and lowest <= value <= highest:
            return value
        raise Unfit(f"expected a whole number of {bits} bits, found {type(value).__name__}")

    return convert


def _float(value: Any) -> float:
    """A number that is a double to the last digit: others must not lose any."""
    found = float(_of(value, float, int, Decimal))
    if type(value) is not float and Decimal(repr(found)) != value:
        raise Unfit("a number has more digits than a double can hold")
    return found


def _read_bytes(value: Any) -> bytes:
    try:
        return b64decode(_of(value, str), validate=True)
    except (binascii.Error, ValueError):
        raise Unfit("bytes are not base64") from None


def _moment(name: str) -> tuple[Convert, Convert]:
    factor = logical.DAY_MS if name == DATE else 1
    underlying: dict[str, Callable[[Instant], int]] = {DATE: logical.days_of, TIME: logical.time_of}
    number = underlying.get(name, _milliseconds)
    return lambda value: Instant(_of(value, int) * factor), lambda value: number(_of(value, Instant))


def _milliseconds(value: Instant) -> int:
    return value.ms


def _decimal(document: Mapping[str, Any], written: Callable[[Decimal, int], Any]) -> Node:
    schema = logical.decimal_schema(int(document.get(CONNECT_PARAMETERS, {}).get(logical.SCALE, 0)))
    scale = logical.scale_of(schema)

    def read(value: Any) -> Decimal:
        if type(value) is str:
            return logical.decimal_from_bytes(_read_bytes(value), scale)
        return Decimal(repr(value)) if type(value) is float else Decimal(_of(value, int, Decimal))

    return Node(schema, read, lambda value: written(_of(value, Decimal), scale))
