"""Keys and values of every kind, to compare our transforms with Kafka's own on each of them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

from hypothesis import strategies

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord


class Sample(NamedTuple):
    """The bytes of a key or a value, and the converter that reads them."""

    data: bytes | None
    converter: str


def plain(value: Any) -> Sample:
    """JSON without a schema."""
    return Sample(json.dumps(value).encode(), "json")


def envelope(schema: Mapping[str, Any] | None, payload: Any) -> Sample:
    """JSON with a schema."""
    return Sample(json.dumps({"schema": schema, "payload": payload}).encode(), "json-schemas")


def field(name: str, kind: str, /, **more: Any) -> dict[str, Any]:
    """The schema of a field, required if nothing else is said."""
    return {"field": name, "type": kind, "optional": False, **more}


def struct(*fields: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The schema of a struct, required if nothing else is said."""
    return {"type": "struct", "fields": list(fields), "optional": False, **more}


def _logical(name: str, kind: str, of: str, **more: Any) -> dict[str, Any]:
    return field(name, kind, name=f"org.apache.kafka.connect.data.{of}", version=1, **more)


_EVERYTHING = struct(
    field("i8", "int8"),
    field("i16", "int16"),
    field("i32", "int32"),
    field("i64", "int64"),
    field("f32", "float"),
    field("f64", "double"),
    field("flag", "boolean"),
    field("text", "string", doc="what it says", parameters={"p": "q"}),
    field("data", "bytes"),
    field("list", "array", items={"type": "int32", "optional": False}),
    field("map", "map", keys={"type": "string"}, values={"type": "int32"}),
    _logical("money", "bytes", "Decimal", parameters={"scale": "2"}),
    _logical("count", "bytes", "Decimal", parameters={"scale": "0"}),
    _logical("date", "int32", "Date"),
    _logical("time", "int32", "Time"),
    _logical("moment", "int64", "Timestamp"),
    field("nested", "struct", fields=[field("a", "int32"), field("b", "string", optional=True)]),
    name="every.Thing",
    version=7,
    doc="one of each",
    parameters={"x": "y"},
)
_EVERYTHING_PAYLOAD = {
    "i8": 8,
    "i16": -16,
    "i32": 32,
    "i64": 2**60,
    "f32": 1.5,
    "f64": -2.25,
    "flag": True,
    "text": "grüße 😀",
    "data": b64encode(b"\x00\xff").decode(),
    "list": [1, 2],
    "map": {"k": 1},
    "money": b64encode(b"\x04\xd2").decode(),
    "count": b64encode(b"\x05").decode(),
    "date": 19000,
    "time": 1000,
    "moment": 1_700_000_000_123,
    "nested": {"a": 1, "b": None},
}
_OPTIONAL = struct(
    field("a", "string", optional=True),
    field("b", "int32", optional=True, default=5),
    field("c", "string", default="see"),
    field("nested", "struct", optional=True, fields=[field("a", "int32"), field("b", "int64", default=9)]),
    optional=True,
)
_DEEP = struct(
    field(
        "a",
        "struct",
        fields=[field("b", "struct", optional=True, fields=[field("c", "string"), field("d.e", "int32")])],
    ),
    field("list", "array", optional=True, items=struct(field("x", "int32"))),
)

SAMPLES: dict[str, Sample] = {
    "nothing": Sample(None, "json"),
    "nothing, schemas expected": Sample(None, "json-schemas"),
    "null": plain(None),
    "text": plain("hello"),
    "number": plain(5),
    "list": plain([1, {"a": 2}]),
    "empty": plain({}),
    "one": plain({"a": 1}),
    "kinds": plain({"a": "text", "b": 2, "c": 2.5, "d": True, "e": None, "f": [1], "g": {"a": {"b": [{"c": 1}]}}}),
    "nested": plain({"a": {"b": {"c": 1, "d.e": None}, "x": []}, "nested": {"a": 7}, "b": "top", "c": {}}),
    "names": plain({"": 1, "a.b": 2, "a`b": 3, "é😀": {"": 4, "ß": 5}, "topic": "old", "static": 1}),
    "no schema in the envelope": envelope(None, {"a": 1, "b": {"a": None}}),
    "no schema, no value": envelope(None, None),
    "string": envelope({"type": "string", "optional": False}, "hello"),
    "missing string": envelope({"type": "string", "optional": True}, None),
    "array": envelope({"type": "array", "items": {"type": "int32"}, "optional": False}, [1, 2]),
    "every type": envelope(_EVERYTHING, _EVERYTHING_PAYLOAD),
    "optional fields set": envelope(_OPTIONAL, {"a": "x", "b": 1, "c": "y", "nested": {"a": 3, "b": 4}}),
    "optional fields null": envelope(_OPTIONAL, {"a": None, "b": None, "c": None, "nested": None}),
    "optional fields missing": envelope(_OPTIONAL, {}),
    "missing struct": envelope(_OPTIONAL, None),
    "deep": envelope(_DEEP, {"a": {"b": {"c": "x", "d.e": 1}}, "list": [{"x": 1}]}),
    "deep null": envelope(_DEEP, {"a": {"b": None}, "list": None}),
    "text as such": Sample("grüße".encode(), "string"),
    "bytes as such": Sample(b"\x00\xff", "bytes"),
}

_SIMPLE = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(-(2**63), 2**63 - 1),
    strategies.floats(allow_nan=False, allow_infinity=False),
    strategies.text("ab .é😀", max_size=5),
)
_NAMES = strategies.text("ab.`é", min_size=1, max_size=3)
JSON_OBJECTS = strategies.dictionaries(
    _NAMES,
    strategies.recursive(
        _SIMPLE,
        lambda inner: strategies.one_of(
            strategies.lists(inner, max_size=3), strategies.dictionaries(_NAMES, inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def assert_same_on_both_sides(
    oracle: JavaOracle, name: str, settings: Mapping[str, str], sample: Sample
) -> list[OracleRecord | OracleError | None]:
    """Compare the `$Key` and the `$Value` form; what Java said to each."""
    data, converter = sample
    return [
        assert_same(oracle, f"{name}$Key", settings, OracleRecord(key=data), converter, "json"),
        assert_same(oracle, f"{name}$Value", settings, OracleRecord(data), "json", converter),
    ]
