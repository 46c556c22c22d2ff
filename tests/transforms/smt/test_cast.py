"""Cast does as Java's."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.stage import Transform
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.samples import (
    A_DATE,
    A_TIME,
    A_TIMESTAMP,
    BOOLEAN,
    BYTES,
    DECIMAL_2,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    OPTIONAL,
    TEXT,
    array_of,
    envelope,
    map_of,
    plain,
    struct_of,
)

_TARGETS = ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string"]
_PLAIN: list[Any] = [
    0, 1, -1, 127, 128, -129, 40_000, 2**31, 2**63 - 1, -(2**63), 2**53 + 1,
    0.0, 0.5, 1.5, -2.7, 1e10, 1e19, 1e300, -1e300, 1e-5, 123456789.125, 0.1, 1e7, 1e-3, 9999999.0,
    True, False, None, [], [1], {}, {"a": 1},
    "", "5", "+5", "-5", " 5", "5 ", "5.5", "300", "99999999999999999999", "abc", "true", "TRUE", "yes", "NaN",
    "Infinity", "-Infinity", "1e3", "1E400", "0x10", "0x1p3", "0x.8p1", "0x1p9999", "0xp1", "1f", "1.5d", ".5", "5.",
    ".", "+", "1_0", "\u0665", " 1.5 ", "1e-50",
]  # fmt: skip
_LONGER_IN_OLD_JAVA = (2**31, 2**53 + 1, 123456789.125)  # as floats: Java before 19 writes more digits than it needs
_TYPED: list[tuple[dict[str, Any], list[Any]]] = [
    (INT8, [0, 5, -128]),
    (INT16, [300, -300]),
    (INT32, [70_000, -70_000]),
    (INT64, [2**40 + 1, -(2**62)]),
    (FLOAT, [1.5, 0.1, -3e38, 1e10, 1e-7, 16777217]),
    (DOUBLE, [1.5, 0.1, 1e300, -1e-7, 2**53]),
    (BOOLEAN, [True, False]),
    (TEXT, ["5", "300", "x", "true", "1.25", "", "1e40"]),
    (BYTES, ["AP8=", ""]),
    (DECIMAL_2, ["AN4=", "/yA=", "AA==", "DeC2s6dkAAA="]),
    (A_DATE, [0, 19_000, -1]),
    (A_TIME, [0, 5_000, 86_399_999]),
    (A_TIMESTAMP, [0, 1_700_000_000_123, -5, 1_699_920_000_000]),
    (array_of(INT32), [[1]]),
    (map_of(INT32), [{"a": 1}]),
    (struct_of({"x": INT32}), [{"x": 1}]),
]
_WITH_ORACLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)


@pytest.mark.parametrize("target", _TARGETS)
def test_fields_without_a_schema(java_oracle: JavaOracle, target: str) -> None:
    for value in _plain_values(target):
        record = OracleRecord(plain({"a": value, "b": [1.5]}))
        assert_same(java_oracle, "Cast$Value", {"spec": f"a:{target}"}, record)


@pytest.mark.parametrize("target", _TARGETS)
def test_whole_keys_without_a_schema(java_oracle: JavaOracle, target: str) -> None:
    for value in _plain_values(target):
        assert_same(java_oracle, "Cast$Key", {"spec": target}, OracleRecord(b"5", plain(value)))


@pytest.mark.parametrize("target", _TARGETS)
def test_fields_with_a_schema(java_oracle: JavaOracle, target: str) -> None:
    for schema, payloads in _TYPED:
        for payload in payloads:
            data = envelope(
                struct_of({"a": schema, "b": TEXT}, name="n", version=3, **OPTIONAL), {"a": payload, "b": "x"}
            )
            _same_with_schema(java_oracle, f"a:{target}", data)


@pytest.mark.parametrize("target", _TARGETS)
def test_whole_values_with_a_schema(java_oracle: JavaOracle, target: str) -> None:
    for schema, payloads in _TYPED:
        for payload in payloads:
            _same_with_schema(java_oracle, target, envelope(schema, payload))


@pytest.mark.parametrize("target", _TARGETS)
def test_defaults_and_optional_are_kept(java_oracle: JavaOracle, target: str) -> None:
    for schema in (INT32 | {"default": 5}, TEXT | {"default": "7"} | OPTIONAL, A_DATE | {"default": 3}):
        for payload in (None, {"default": schema["default"]}["default"]):
            fields = struct_of({"a": schema | {"doc": "d"}, "b": INT32 | OPTIONAL})
            _same_with_schema(java_oracle, f"a:{target}", envelope(fields, {"a": payload}))
            _same_with_schema(java_oracle, target, envelope(schema, payload))


def test_a_default_that_cannot_be_cast_fails(java_oracle: JavaOracle) -> None:
    data = envelope(struct_of({"a": TEXT | {"default": "x"}}), {"a": "5"})
    assert isinstance(_same_with_schema(java_oracle, "a:int8", data), OracleError)


def test_a_struct_with_a_default_fails(java_oracle: JavaOracle) -> None:
    data = envelope(struct_of({"a": INT32}, default={"a": 1}), {"a": 5})
    assert isinstance(_same_with_schema(java_oracle, "a:int8", data), OracleError)


@pytest.mark.parametrize("value", [None, b"null", b"5", b'"x"', b"[]", b"{}", b'{"b":1}'])
def test_other_values_and_missing_fields(java_oracle: JavaOracle, value: bytes | None) -> None:
    assert_same(java_oracle, "Cast$Value", {"spec": "a:int8,c:string"}, OracleRecord(value))
    assert_same(java_oracle, "Cast$Key", {"spec": "a:int8,c:string"}, OracleRecord(b"{}", value))


@pytest.mark.parametrize("field", ["a", "missing"])
@pytest.mark.parametrize("data", [envelope(struct_of({"a": INT32 | OPTIONAL}), {}), envelope(TEXT | OPTIONAL, None)])
def test_nulls_and_missing_fields_with_a_schema(java_oracle: JavaOracle, data: bytes, field: str) -> None:
    _same_with_schema(java_oracle, f"{field}:int8", data)


@pytest.mark.parametrize(
    "spec",
    [
        "", " ", "a", "int9", "a:int9", "a:b:int8", "int8,int16", "a:int8,int8", "bytes", "a:array", "a:", ":", "int8:",
        ":int8", "INT8", "a:Int8", " a : int8 , b:string ", "a:int8,a:string", "a:int8,", "a::int8", "map", "a:int8:",
        "::",
    ],
)  # fmt: skip
def test_specs_are_read_as_by_java(java_oracle: JavaOracle, spec: str) -> None:
    for value in ({"a": "5", "": "6", " a ": "7"}, 5):
        assert_same(java_oracle, "Cast$Value", {"spec": spec}, OracleRecord(plain(value)))


@pytest.mark.parametrize("with_defaults", ["true", "false", "maybe", "TRUE "])
def test_nulls_become_defaults_or_not(java_oracle: JavaOracle, with_defaults: str) -> None:
    data = envelope(struct_of({"a": INT32 | OPTIONAL | {"default": 5}, "b": INT32 | OPTIONAL | {"default": 6}}), {})
    given_settings = {"spec": "a:string", "replace.null.with.default": with_defaults}
    assert_same(java_oracle, "Cast$Value", given_settings, OracleRecord(data), "json", "json-schemas")


@pytest.mark.parametrize("converter", ["string", "bytes"])
def test_strings_and_bytes(java_oracle: JavaOracle, converter: str) -> None:
    for target in _TARGETS:
        assert_same(java_oracle, "Cast$Value", {"spec": target}, OracleRecord(b"12"), "json", converter)


def _floats() -> st.SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False)


@_WITH_ORACLE
@given(st.integers(-(2**63), 2**63 - 1) | _floats() | st.text("0123456789+-.eE", max_size=8))
def test_anything_becomes_the_same_number(java_oracle: JavaOracle, value: Any) -> None:
    fields = dict.fromkeys(_TARGETS[:4] + _TARGETS[5:7], value)
    spec = ",".join(f"{kind}:{kind}" for kind in fields)
    assert_same(java_oracle, "Cast$Value", {"spec": spec}, OracleRecord(plain(fields)))


@_WITH_ORACLE
@given(st.integers(-(2**63), 2**63 - 1) | _floats() | st.text("0123456789+-.eE", max_size=8))
def test_anything_becomes_the_same_float(java_oracle: JavaOracle, value: Any) -> None:
    schema = {int: INT64, float: DOUBLE, str: TEXT}[type(value)]
    _same_with_schema(java_oracle, "a:float32", envelope(struct_of({"a": schema}), {"a": value}))


@_WITH_ORACLE
@given(_floats().filter(lambda number: 1e-300 < abs(number) < 1e300))
def test_doubles_become_a_text_that_java_reads_as_the_same(java_oracle: JavaOracle, number: float) -> None:
    """Not always the same text: Java before 19 now and then writes more digits than it needs."""
    java = java_oracle.apply("Cast$Value", {"spec": "string"}, OracleRecord(plain(number)))
    ours = _text(number)
    assert isinstance(java, OracleRecord)
    assert java.value is not None
    theirs = java.value.decode().strip('"')
    assert float(ours) == float(theirs) == number
    assert len(ours) <= len(theirs)
    assert ("E" in ours) == ("E" in theirs)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_become_the_shortest_text(number: float) -> None:
    data = envelope(FLOAT, number)
    message = new_message(OracleRecord(data), "json", "json-schemas")
    _cast("string").apply(message)
    text = message.value.parsed("topic").value
    assert struct.pack("<f", float(text)) == struct.pack("<f", number)
    assert len(text.replace("-", "").split("E")[0]) <= 10 + text.count("0")


def test_an_error_says_which_field_but_not_the_value() -> None:
    with pytest.raises(DataError, match=r"Cast: the value: field 'pin' cannot be cast to int8: out of range") as raised:
        _cast("pin:int8").apply(new_message(OracleRecord(plain({"pin": "4711"}))))
    assert "4711" not in str(raised.value)


def test_it_can_be_sent_to_another_process() -> None:
    message = new_message(OracleRecord(plain({"a": "5"})))
    pickle.loads(pickle.dumps(_cast("a:int8"))).apply(message)
    assert message.value.encoded("topic") == b'{"a":5}'


def test_huge_integers_are_not_cut_by_a_text() -> None:
    message = new_message(OracleRecord(plain({"a": 10**30})))
    _cast("a:string").apply(message)
    assert message.value.encoded("topic") == b'{"a":"1%s"}' % (b"0" * 30)


def _plain_values(target: str) -> list[Any]:
    return [value for value in _PLAIN if target != "float32" or value not in _LONGER_IN_OLD_JAVA]


def _cast(spec: str) -> Transform:
    stage = new_stage("Cast$Value", {"spec": spec})
    assert isinstance(stage, Transform)
    return stage


def _text(number: float) -> str:
    message = new_message(OracleRecord(plain(number)))
    _cast("string").apply(message)
    text = message.value.parsed("topic").value
    assert isinstance(text, str)
    return text


def _same_with_schema(oracle: JavaOracle, spec: str, data: bytes) -> OracleRecord | OracleError | None:
    return assert_same(oracle, "Cast$Value", {"spec": spec}, OracleRecord(data), "json", "json-schemas")
