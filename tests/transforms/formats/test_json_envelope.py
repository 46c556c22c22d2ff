"""Connect's JSON with schemas: read and written as Java's `JsonConverter` does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.formats.json_envelope import is_envelope, read_envelope, read_envelope_text, write_envelope
from heliograph.transforms.formats.json_text import read_plain
from heliograph.transforms.schema import DATE, DECIMAL, TIME, TIMESTAMP, Field, Instant, Schema, Type
from heliograph.transforms.struct import Struct
from tests.transforms.comparison import comparable
from tests.transforms.java_oracle import JavaOracle, OracleError

_INT32 = {"type": "int32"}
_TEXT = {"type": "string"}
_DECIMAL = {"type": "bytes", "name": DECIMAL, "version": 1, "parameters": {"scale": "2"}}
_SCALARS = ["int8", "int16", "int32", "int64", "float", "double", "boolean", "string", "bytes"]
_PAYLOADS: list[Any] = [
    5, -129, 40_000, 2**31, 2**63, -(2**64) - 3, 1.5, 1.1, 1e300, True, "text", "AP8=", "", None, [], [1], {}, {"a": 1},
]  # fmt: skip


def _struct(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields), **more}


def _field(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"field": name}


def _assert_same(oracle: JavaOracle, schema: Any, payload: Any, converter: str = "json-schemas") -> None:
    data = json.dumps({"schema": schema, "payload": payload}).encode()
    java = oracle.converted(data, converter)
    if isinstance(java, OracleError):
        with pytest.raises(DataError):
            write_envelope(*read_envelope_text(data))
        return
    for found in (read_envelope_text(data), read_envelope(read_plain(data))):
        ours = None if found == (None, None) else write_envelope(*found, converter.endswith("numeric"))
        assert comparable(ours, "json-schemas") == comparable(java, "json-schemas")


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("kind", _SCALARS)
def test_scalars_are_those_of_java_even_of_wrong_types(java_oracle: JavaOracle, kind: str, optional: bool) -> None:
    for payload in _PAYLOADS:
        schema = {"type": kind, "optional": optional}
        _assert_same(java_oracle, schema, payload)
        _assert_same(java_oracle, _struct(_field("f", schema)), {"f": payload})


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (_struct(_field("a", _INT32), _field("b", _TEXT | {"optional": True})), {"b": None, "a": 1, "other": 5}),
        (_struct(_field("a", _INT32)), {}),
        (_struct(_field("a", _INT32 | {"default": 7})), {}),
        (_struct(_field("a", _INT32 | {"default": 7, "optional": True})), {"a": None}),
        (_struct(_field("a", _struct(_field("b", _INT32), name="inner", version=3))), {"a": {"b": 4}}),
        (_struct(_field("a", _struct(_field("b", _INT32), default={"b": 9}))), {}),
        (_struct(_field("a", _INT32), name="n", version=2, doc="d", parameters={"p": "q"}), {"a": 1}),
        (_struct(_field("a", _INT32)), [1]),
        (_struct(), {}),
        ({"type": "array", "items": _INT32}, [1, 2]),
        ({"type": "array", "items": _TEXT}, ["a", 5]),
        ({"type": "array", "items": _TEXT | {"optional": True}}, ["a", 5, None]),
        ({"type": "array", "items": _INT32}, {"a": 1}),
        ({"type": "array", "items": _INT32}, 7),
        ({"type": "array", "items": _struct(_field("x", {"type": "double"}))}, [{"x": 1.25}]),
        ({"type": "map", "keys": _TEXT, "values": _INT32}, {"a": 1, "b": 2}),
        ({"type": "map", "keys": _TEXT, "values": _INT32}, [["a", 1]]),
        ({"type": "map", "keys": _INT32, "values": _TEXT}, [[1, "a"], [2, "b"]]),
        ({"type": "map", "keys": _INT32, "values": _TEXT}, {"1": "a"}),
        ({"type": "map", "keys": _INT32, "values": _TEXT}, [[1, "a", 3]]),
        ({"type": "map", "keys": _INT32, "values": _TEXT}, [5]),
        ({"type": "map", "keys": {"type": "boolean"}, "values": _DECIMAL}, [[True, "AA=="], [False, "/w=="]]),
        (_DECIMAL, "AN4="),
        (_DECIMAL, "/yA="),
        (_DECIMAL, ""),
        (_DECIMAL, "?"),
        (_DECIMAL, 1.25),
        (_DECIMAL, 1.5),
        (_DECIMAL, 3),
        (_DECIMAL, True),
        (_DECIMAL | {"parameters": {}}, "AN4="),
        (_DECIMAL | {"parameters": {"scale": "x"}}, "AN4="),
        (_DECIMAL | {"parameters": {"scale": "-3"}}, "AN4="),
        (_DECIMAL | {"default": "AN4="}, None),
        (_INT32 | {"name": DATE}, 19_000),
        (_INT32 | {"name": DATE}, -5),
        (_INT32 | {"name": DATE}, 2**31),
        (_INT32 | {"name": DATE}, "5"),
        (_INT32 | {"name": DATE, "default": 3}, None),
        (_INT32 | {"name": TIME}, 86_400_000),
        (_INT32 | {"name": TIME}, 86_400_001),
        (_INT32 | {"name": TIME}, -1),
        ({"type": "int64", "name": TIMESTAMP}, 1_700_000_000_000),
        ({"type": "int64", "name": TIMESTAMP}, -1),
        ({"type": "int64", "name": TIMESTAMP}, 1.5),
        ({"type": "int64", "name": TIMESTAMP, "optional": True}, None),
        (None, {"a": [1, 2.5, None]}),
        (None, None),
        (_TEXT | {"default": "x", "optional": True}, None),
        (_TEXT | {"default": None, "optional": True}, None),
    ],
)
def test_values_are_those_of_java(java_oracle: JavaOracle, schema: Any, payload: Any) -> None:
    _assert_same(java_oracle, schema, payload)


@pytest.mark.parametrize(
    "schema",
    [
        {}, {"type": 5}, {"type": "int128"}, "int32", {"type": "array"}, {"type": "array", "items": None},
        {"type": "map", "keys": _TEXT}, {"type": "map", "keys": None, "values": _TEXT}, {"type": "struct"},
        _struct(_INT32), _struct(_field("", _INT32)), _struct(_field("a", _INT32), _field("a", _INT32)),
        _INT32 | {"default": None}, _TEXT | {"default": 5}, _INT32 | {"parameters": {"a": 5}}, {"type": "INT32"},
    ],
)  # fmt: skip
def test_unsound_schemas_are_refused_as_by_java(java_oracle: JavaOracle, schema: Any) -> None:
    data = json.dumps({"schema": schema, "payload": {"a": 5} if "fields" in schema else 5}).encode()
    assert isinstance(java_oracle.converted(data, "json-schemas"), OracleError)
    with pytest.raises(DataError):
        read_envelope_text(data)


@pytest.mark.parametrize("schema", [_INT32 | {"name": 5, "version": "x", "doc": 1}, _INT32 | {"parameters": [1]}])
def test_labels_of_wrong_types_are_ignored_as_by_java(java_oracle: JavaOracle, schema: Any) -> None:
    _assert_same(java_oracle, schema, 5)


@pytest.mark.parametrize("payload", ["AN4=", 1.25, 1.5, 3, 100, 1e30])
def test_decimals_can_be_written_as_numbers(java_oracle: JavaOracle, payload: Any) -> None:
    _assert_same(java_oracle, _DECIMAL, payload, "json-schemas-numeric")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False) | st.integers() | st.floats(allow_nan=False, width=32))
def test_any_number_becomes_the_same_as_in_java(java_oracle: JavaOracle, number: Any) -> None:
    text = str(number).replace("inf", "1e999").encode()
    for kind in ("int8", "int32", "int64", "float", "double"):
        data = b'{"schema":{"type":"%s"},"payload":%s}' % (kind.encode(), text)
        java = java_oracle.converted(data, "json-schemas")
        assert comparable(write_envelope(*read_envelope_text(data)), "json-schemas") == comparable(java, "json-schemas")


def test_the_bytes_are_those_that_java_writes(java_oracle: JavaOracle) -> None:
    schema = _struct(
        _field("a", _INT32 | {"optional": True, "default": 5, "doc": "d", "name": "n", "version": 1}),
        _field("b", {"type": "array", "items": _TEXT}),
        _field("c", _DECIMAL),
        _field("d", {"type": "float"}),
        name="top",
    )
    payload = {"a": 1, "b": ["x", "é"], "c": "AN4=", "d": 0.1}
    data = json.dumps({"schema": schema, "payload": payload}).encode()
    assert write_envelope(*read_envelope_text(data)) == java_oracle.converted(data, "json-schemas")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"schema": {"type": "int32"}, "payload": 5}, True),
        ({"schema": None, "payload": 5}, True),
        ({"schema": {"type": "int32"}, "payload": 5, "more": 1}, False),
        ({"schema": "v1", "payload": 5}, False),
        ({"schema": {"type": 5}, "payload": 5}, False),
        ({"schema": {"type": "int32"}}, False),
        ([], False),
        (None, False),
    ],
)
def test_an_envelope_is_told_from_other_objects(value: Any, expected: bool) -> None:
    assert is_envelope(value) is expected


@pytest.mark.parametrize("text", [b"5", b"{}", b'{"schema":null}', b'{"schema":null,"payload":1,"x":2}', b"{"])
def test_what_is_no_envelope_is_refused(text: bytes) -> None:
    with pytest.raises(DataError):
        read_envelope_text(text)


def test_values_of_one_schema_share_its_object() -> None:
    texts = [b'{"schema":{"type":"int32"},"payload":%d}' % number for number in (1, 2)]
    first, second = (read_envelope_text(text)[0] for text in texts)
    assert first is second
    assert read_envelope(read_plain(texts[0]))[0] is read_envelope(read_plain(texts[1]))[0]


def test_an_error_says_which_field_and_not_the_value() -> None:
    schema = _struct(_field("outer", _struct(_field("inner", _INT32 | {"name": TIME}))))
    data = json.dumps({"schema": schema, "payload": {"outer": {"inner": -4711}}}).encode()
    with pytest.raises(DataError, match=r"outer: inner: a time is not within a day") as raised:
        read_envelope_text(data)
    assert "4711" not in str(raised.value)


_OTHER = Struct(Schema(Type.STRUCT, name="other"))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (Schema(Type.INT32), "5"),
        (Schema(Type.INT32), True),
        (Schema(Type.STRING), 5),
        (Schema(Type.BOOLEAN), 1),
        (Schema(Type.FLOAT64), "x"),
        (Schema(Type.FLOAT32), 1),
        (Schema(Type.ARRAY, value_schema=Schema(Type.INT32)), "x"),
        (Schema(Type.MAP, key_schema=Schema(Type.STRING), value_schema=Schema(Type.INT32)), []),
        (Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32)),)), {"a": 1}),
        (Schema(Type.STRUCT, fields=(Field("a", Schema(Type.INT32)),)), _OTHER),
        (Schema(Type.INT32, name=DATE), Instant(5)),
        (Schema(Type.INT32, name=DATE), 5),
        (Schema(Type.INT32, name=TIME), Instant(-5)),
        (Schema(Type.BYTES, name=DECIMAL, parameters={"scale": "0"}), 5),
        (Schema(Type.STRING), None),
    ],
)
def test_values_of_another_type_than_their_schema_are_not_written(schema: Schema, value: Any) -> None:
    with pytest.raises(DataError):
        write_envelope(schema, value)
