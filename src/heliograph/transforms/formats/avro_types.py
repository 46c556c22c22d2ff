"""What an Avro schema means in Kafka Connect's terms, as Confluent's AvroData sees it.

fastavro gets a schema of the same encoding without logical types, under names of our own: what it gives is turned
into Connect's values here, so that no precision is lost on the way and every branch of a union is told from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, NamedTuple

from fastavro.read import LOGICAL_READERS

from heliograph.errors import DataError
from heliograph.transforms.formats import avro_names as words
from heliograph.transforms.formats import avro_values as values
from heliograph.transforms.formats import logical
from heliograph.transforms.formats.avro_values import Branch, Convert, FieldWriter, as_is
from heliograph.transforms.formats.codec import RecursiveSchema
from heliograph.transforms.schema import Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct

_BRANCH: Final = "heliograph-branch"
_NUMBERS: Final = ("int", "long", "float", "double")
_SIMPLE: Final = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "bytes": Type.BYTES,
    "string": Type.STRING,
}
_SMALL_INTEGERS: Final = {"int8": Type.INT8, "int16": Type.INT16}
_DEFAULTS: Final[dict[str, Convert]] = {
    "bytes": values.latin,
    "float": float,
    "double": float,
    "int": int,
    "long": int,
}
_INSTANTS: Final[dict[tuple[str, Any], tuple[Schema, Convert, Convert]]] = {
    ("int", "date"): (
        logical.DATE_SCHEMA,
        lambda days: Instant(days * logical.DAY_MS),
        values.instant_encoder(logical.days_of),
    ),
    ("int", "time-millis"): (logical.TIME_SCHEMA, Instant, values.instant_encoder(logical.time_of)),
    ("long", "timestamp-millis"): (logical.TIMESTAMP_SCHEMA, Instant, values.instant_encoder(lambda at: at.ms)),
}


class Node(NamedTuple):
    """One type: its schema, what fastavro is told, and how values pass between the two."""

    schema: Schema
    raw: Any
    tag: str  # what fastavro calls it as a branch of a union
    decode: Convert | None  # None if values are the same on both sides
    encode: Convert
    default: Convert  # reads a default, which is JSON
    name: str | None = None  # of a record, enum or fixed, in full


def _tagging(name: str) -> Callable[..., tuple[str, Any]]:
    return lambda data, *_: (name, data)


for _number in _NUMBERS:  # Python cannot tell an int from a long, nor a float from a double
    LOGICAL_READERS[f"{_number}-{_BRANCH}"] = _tagging(_number)


def avro_node(root: Any, references: Sequence[Any] = ()) -> Node:
    """The meaning of a schema, given as JSON, with those that it refers to; DataError if it has none."""
    try:
        return _Walk(root, references).node(root, "")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"the Avro schema is malformed: {type(error).__name__}: {error}") from None


class _Walk:
    """Goes once through a schema, defining each name where it is first used."""

    def __init__(self, root: Any, references: Sequence[Any]) -> None:
        self._definitions: dict[str, tuple[dict[str, Any], str]] = {}
        for schema in (*references, root):
            self._definitions.update(_definitions(schema, ""))
        self._done: dict[str, Node] = {}
        self._open: set[str] = set()
        self._numbers = count()

    def node(self, avro: Any, namespace: str) -> Node:
        if isinstance(avro, list):
            return self._union(avro, namespace)
        if isinstance(avro, str):
            return _primitive(avro, {}) if avro in words.PRIMITIVES else self._named(avro, namespace)
        kind = avro["type"]
        if kind in words.PRIMITIVES:
            return _primitive(kind, avro)
        if kind in words.NAMED:
            return self._named(words.full_name(avro, namespace), namespace)
        if kind == "array":
            return _with_default(self._array(avro, namespace), avro)
        if kind == "map":
            return _with_default(self._map(avro, namespace), avro)
        return self.node(kind, namespace)

    def _named(self, name: str, namespace: str) -> Node:
        known = next((item for item in _candidates(name, namespace) if item in self._definitions), None)
        if known is None:
            raise DataError(f"the Avro schema refers to {name}, which nothing defines")
        if known in self._open:
            raise RecursiveSchema(f"the Avro schema {known} contains itself")
        if known in self._done:
            return self._done[known]
        avro, enclosing = self._definitions[known]
        self._open.add(known)
        built = {"enum": _enum, "fixed": _fixed}.get(avro["type"], self._record)(avro, enclosing, self._tag())
        node = _with_default(built, avro)._replace(name=known)
        self._open.discard(known)
        self._done[known] = node._replace(raw=node.tag)
        return node

    def _tag(self) -> str:
        return f"named{next(self._numbers)}"

    def _record(self, avro: dict[str, Any], enclosing: str, tag: str) -> Node:
        inside = words.namespace_of(avro, enclosing)
        items = [(item, self.node(item["type"], inside)) for item in avro["fields"]]
        fields = tuple(Field(item["name"], _field_schema(item, node)) for item, node in items)
        docs = {words.FIELD_DOC + item["name"]: item["doc"] for item, _ in items if item.get("doc") is not None}
        if avro.get("doc") is not None:
            docs[words.RECORD_DOC] = avro["doc"]
        schema = _described(Schema(Type.STRUCT, parameters=docs, fields=fields), avro, words.full_name(avro, enclosing))
        raw = {"type": "record", "name": tag, "fields": [{"name": i["name"], "type": n.raw} for i, n in items]}
        special = [(item["name"], node.decode) for item, node in items if node.decode is not None]
        writers = [
            FieldWriter(field.name, field.schema.default, not field.schema.is_optional, node.encode)
            for field, (_, node) in zip(fields, items, strict=True)
        ]
        decode, encode = values.record_decoder(schema, special), values.record_encoder(writers)
        return Node(schema, raw, tag, decode, encode, _record_default(schema, items))

    def _array(self, avro: dict[str, Any], namespace: str) -> Node:
        item = self.node(avro["items"], namespace)
        raw = {"type": "array", "items": item.raw}
        if self._is_map_entry(item):
            return _pairs(item, raw, avro)
        schema = _described(Schema(Type.ARRAY, value_schema=item.schema), avro)
        default = item.default
        encode = values.list_encoder(item.encode)
        return Node(schema, raw, "array", values.each(item.decode), encode, lambda given: [default(v) for v in given])

    def _map(self, avro: dict[str, Any], namespace: str) -> Node:
        item = self.node(avro["values"], namespace)
        schema = _described(Schema(Type.MAP, key_schema=Schema(Type.STRING), value_schema=item.schema), avro)
        raw, default = {"type": "map", "values": item.raw}, item.default
        decode, encode = values.each_value(item.decode), values.map_encoder(item.encode)
        return Node(schema, raw, "map", decode, encode, lambda given: {k: default(v) for k, v in given.items()})

    def _is_map_entry(self, item: Node) -> bool:
        if item.name is None or item.schema.by_name.keys() != {"key", "value"}:
            return False
        marked = self._definitions[item.name][0].get(words.CONNECT_INTERNAL_TYPE) == words.MAP_ENTRY
        return marked or item.name == f"{words.NAMESPACE}.{words.MAP_ENTRY}"

    def _union(self, types: list[Any], namespace: str) -> Node:
        nodes = [self.node(item, namespace) for item in types if not _is_null(item)]
        is_optional = len(nodes) < len(types)
        if not nodes:
            raise DataError("the Avro schema null alone has no meaning for Kafka Connect")
        if len(nodes) == 1:
            return _only_type(nodes[0], types, is_optional)
        return _several_types(nodes, types, is_optional)


def _definitions(avro: Any, namespace: str) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    if isinstance(avro, list):
        for item in avro:
            yield from _definitions(item, namespace)
    if not isinstance(avro, dict):
        return
    inside = namespace
    if avro["type"] in words.NAMED:
        yield words.full_name(avro, namespace), (avro, namespace)
        inside = words.namespace_of(avro, namespace)
    for item in avro.get("fields", ()):
        yield from _definitions(item["type"], inside)
    for key in ("items", "values", "type"):
        yield from _definitions(avro.get(key), inside)


def _candidates(name: str, namespace: str) -> tuple[str, ...]:
    return (name,) if "." in name or not namespace else (f"{namespace}.{name}", name)


def _is_null(avro: Any) -> bool:
    return avro == "null" or (isinstance(avro, dict) and avro.get("type") == "null")


def _described(schema: Schema, avro: Mapping[str, Any], own_name: str | None = None) -> Schema:
    """The schema with all that properties say about it."""
    name = avro.get(words.CONNECT_NAME) or schema.name or own_name
    if name and name.startswith(f"{words.NAMESPACE}.{words.DEFAULT_NAME}"):
        name = None
    parameters = {**schema.parameters, **avro.get(words.CONNECT_PARAMETERS, {})}
    parameters |= {key: str(value) for key, value in avro.items() if key.startswith(words.AVRO_PROPERTY)}
    version = avro.get(words.CONNECT_VERSION, schema.version)
    return replace(schema, name=name, version=version, doc=avro.get(words.CONNECT_DOC), parameters=parameters)


def _with_default(node: Node, avro: Mapping[str, Any]) -> Node:
    given = avro.get(words.CONNECT_DEFAULT)
    return node if given is None else node._replace(schema=_defaulted(node, given))


def _defaulted(node: Node, given: Any) -> Schema:
    try:
        return replace(node.schema, default=node.default(given))
    except (DataError, TypeError, ValueError, KeyError, AttributeError):
        return node.schema  # one that does not fit is no default, as for AvroData


def _field_schema(item: dict[str, Any], node: Node) -> Schema:
    schema, given = node.schema, item.get("default")
    if given is not None and (node.tag != "union" or node.schema.name == words.UNION):
        schema = _defaulted(node, given)
        if node.schema.default is None:
            schema = replace(schema, parameters={**schema.parameters, words.FIELD_DEFAULT: "true"})
    extra = item.get(words.CONNECT_PARAMETERS)
    return replace(schema, parameters={**schema.parameters, **extra}) if extra else schema


def _primitive(kind: str, avro: Mapping[str, Any]) -> Node:
    if kind == "null":
        raise DataError("the Avro schema null alone has no meaning for Kafka Connect")
    meaning = avro.get("logicalType")
    if kind == "bytes" and meaning == "decimal":
        return _with_default(_decimal(_decimal_schema(avro, {}), kind, kind, None), avro)
    if (kind, meaning) in _INSTANTS:
        schema, decode, encode = _INSTANTS[kind, meaning]
        return _with_default(Node(_described(schema, avro), kind, kind, decode, encode, decode), avro)
    parameters = {words.OTHER_LOGICAL_TYPE: str(meaning)} if meaning else {}
    small = _SMALL_INTEGERS.get(str(avro.get(words.CONNECT_TYPE))) if kind == "int" else None
    schema = _described(Schema(small or _SIMPLE[kind], parameters=parameters), avro)
    default = _DEFAULTS.get(kind, as_is)
    return _with_default(Node(schema, kind, kind, None, values.plain_encoder(schema.type), default), avro)


def _decimal_schema(avro: Mapping[str, Any], parameters: dict[str, str]) -> Schema:
    precision = avro.get("precision", words.DEFAULT_PRECISION)
    if precision != words.DEFAULT_PRECISION:
        parameters = {words.PRECISION: str(precision), **parameters}
    return _described(logical.decimal_schema(int(avro.get("scale", 0)), parameters), avro)


def _decimal(schema: Schema, raw: Any, tag: str, size: int | None) -> Node:
    scale = logical.scale_of(schema)
    decode, encode = values.decimal_decoder(scale), values.decimal_encoder(scale, size)
    return Node(schema, raw, tag, decode, encode, lambda text: decode(values.latin(text)))


def _enum(avro: dict[str, Any], enclosing: str, tag: str) -> Node:
    name, symbols = words.full_name(avro, enclosing), list(avro["symbols"])
    short = name.rpartition(".")[2]
    told = {words.ENUM_DOC: avro.get("doc"), words.ENUM_DEFAULT: avro.get("default")}
    parameters = {key + short: text for key, text in told.items() if text is not None}
    parameters |= {words.ENUM: name, **{f"{words.ENUM}.{symbol}": symbol for symbol in symbols}}
    schema = _described(Schema(Type.STRING, parameters=parameters), avro, name)
    raw = {"type": "enum", "name": tag, "symbols": symbols}
    return Node(schema, raw, tag, None, values.symbol_encoder(frozenset(symbols)), str)


def _fixed(avro: dict[str, Any], enclosing: str, tag: str) -> Node:
    size = int(avro["size"])
    raw, parameters = {"type": "fixed", "name": tag, "size": size}, {words.FIXED_SIZE: str(size)}
    if avro.get("logicalType") == "decimal":
        return _decimal(_decimal_schema(avro, parameters), raw, tag, size)
    schema = _described(Schema(Type.BYTES, parameters=parameters), avro, words.full_name(avro, enclosing))
    return Node(schema, raw, tag, None, values.bytes_encoder(size), values.latin)


def _pairs(entry: Node, raw: Any, avro: dict[str, Any]) -> Node:
    """A map whose keys are no texts: an array of records with key and value."""
    key, value = entry.schema.by_name["key"].schema, entry.schema.by_name["value"].schema
    name = None if entry.name == f"{words.NAMESPACE}.{words.MAP_ENTRY}" else entry.schema.name
    schema = _described(Schema(Type.MAP, name=name, key_schema=key, value_schema=value), avro)
    read, write, default = entry.decode or as_is, entry.encode, entry.default

    def mapped(structs: Iterator[Struct]) -> dict[Any, Any]:
        return {struct.values["key"]: struct.values["value"] for struct in structs}

    return Node(
        schema,
        raw,
        "array",
        lambda pairs: mapped(map(read, pairs)),
        lambda given: [write({"key": key, "value": item}) for key, item in values.as_dict(given).items()],
        lambda pairs: mapped(default(dict(zip(("key", "value"), pair, strict=True))) for pair in pairs),
    )


def _record_default(schema: Schema, items: Sequence[tuple[dict[str, Any], Node]]) -> Convert:
    def default(given: Any) -> Struct:
        found = {}
        for item, node in items:
            value = given.get(item["name"], item.get("default"))
            found[item["name"]] = None if value is None else node.default(value)
        return Struct(schema, found)

    return default


def _only_type(node: Node, types: list[Any], is_optional: bool) -> Node:
    """A union of one type, mostly with null: what Kafka Connect calls optional."""
    schema = logical.optional(node.schema) if is_optional else node.schema
    raw = ["null" if _is_null(item) else node.raw for item in types]
    is_named = node.name is not None
    decode = values.nullable_decoder(node.decode, is_named)
    encode = values.nullable_encoder(node.encode, node.tag if is_named or node.tag in ("array", "map") else None)
    return Node(schema, raw, "union", decode, encode, node.default)


def _several_types(nodes: Sequence[Node], types: list[Any], is_optional: bool) -> Node:
    """A union of several types: a struct with one field for each."""
    branches = [
        Branch(name, node.tag, node.decode or as_is, node.encode)
        for name, node in zip(_branch_names(nodes), nodes, strict=True)
    ]
    fields = tuple(Field(b.name, logical.optional(node.schema)) for b, node in zip(branches, nodes, strict=True))
    schema = Schema(Type.STRUCT, is_optional=is_optional, name=words.UNION, fields=fields)
    raws = iter([_tagged(node.raw) for node in nodes])
    raw = ["null" if _is_null(item) else next(raws) for item in types]
    is_null_first, first = _is_null(types[0]), nodes[0].default

    def default(given: Any) -> Struct | None:
        return None if is_null_first else Struct(schema, {branches[0].name: first(given)})

    decode, encode = values.union_decoder(schema, branches), values.union_encoder(branches, is_optional)
    return Node(schema, raw, "union", decode, encode, default)


def _tagged(raw: Any) -> Any:
    return {"type": raw, "logicalType": _BRANCH} if raw in _NUMBERS else raw


def _branch_names(nodes: Sequence[Node]) -> list[str]:
    """What the types of a union are called as fields: short names where those differ."""
    full = [node.name or node.tag for node in nodes]
    short = [name.rpartition(".")[2] for name in full]
    names = short if len(set(short)) == len(short) else full
    if len(set(names)) < len(names):
        raise DataError("the Avro schema has a union with the same type twice")
    return names
