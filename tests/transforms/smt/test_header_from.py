"""HeaderFrom does as Java's."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph.errors import DataError
from heliograph.transforms.stage import Transform
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleRecord
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
    INT64,
    OPTIONAL,
    TEXT,
    array_of,
    envelope,
    map_of,
    plain,
    struct_of,
)

_VALUES: list[Any] = [
    5, -5, 1.5, 1.50, 1e10, 1e-5, 0.1, 12345678.9, True, False, None, "text", "", 'with "quotes" and \\', "é",
    [], [1, 2.5, "a", None, True, [1], {"x": "y"}], {}, {"a": 1}, {"a": {"b": ["c", 'd"']}}, 2**62,
]  # fmt: skip
_TYPED: list[tuple[dict[str, Any], Any]] = [
    (INT8, 5), (INT64, 2**40), (FLOAT, 0.1), (FLOAT, 1e10), (DOUBLE, 0.1), (BOOLEAN, True), (TEXT, "x\"y\\"),
    (BYTES, "AP8="), (DECIMAL_2, "AN4="), (A_DATE, 19_000), (A_DATE, -1), (A_TIME, 5), (A_TIMESTAMP, 1_700_000_000_123),
    (A_TIMESTAMP, 0), (array_of(FLOAT), [0.1, 1e-7]), (array_of(BYTES), ["AP8="]), (array_of(TEXT), ['a"', "b"]),
    (array_of(A_DATE), [19_000]), (map_of(DOUBLE), {"a": 1.5}), (map_of(TEXT, INT8), [[1, "x"]]),
    (struct_of({"x": FLOAT, "y": TEXT | {"default": "d"}, "z": INT8 | OPTIONAL}), {"x": 0.1}), (TEXT | OPTIONAL, None),
    (TEXT | OPTIONAL | {"default": "d"}, None), (array_of(TEXT | OPTIONAL), [None]), (array_of(DECIMAL_2), ["AN4="]),
]  # fmt: skip


@pytest.mark.parametrize("operation", ["move", "copy"])
@pytest.mark.parametrize("side", ["Key", "Value"])
def test_fields_without_a_schema(java_oracle: JavaOracle, side: str, operation: str) -> None:
    for value in _VALUES:
        data = plain({"a": value, "b": "kept"})
        record = OracleRecord(data, data, (("h", b"first"),))
        settings = {"fields": "a,missing", "headers": "h,m", "operation": operation}
        assert_same(java_oracle, f"HeaderFrom${side}", settings, record)


@pytest.mark.parametrize("operation", ["move", "copy"])
@pytest.mark.parametrize(("schema", "payload"), _TYPED)
def test_fields_with_a_schema(java_oracle: JavaOracle, schema: dict[str, Any], payload: Any, operation: str) -> None:
    data = envelope(struct_of({"a": schema, "b": TEXT}, name="n", doc="d", **OPTIONAL), {"a": payload, "b": "kept"})
    for with_defaults in ("true", "false"):
        settings = {"fields": "a", "headers": "h", "operation": operation, "replace.null.with.default": with_defaults}
        for side, record in (("Key", OracleRecord(None, data)), ("Value", OracleRecord(data))):
            assert_same(java_oracle, f"HeaderFrom${side}", settings, record, "json-schemas", "json-schemas")


@pytest.mark.parametrize("operation", ["move", "copy"])
def test_several_fields_and_one_that_is_missing(java_oracle: JavaOracle, operation: str) -> None:
    data = envelope(struct_of({"a": INT8, "b": TEXT, "c": TEXT}), {"a": 1, "b": "x", "c": "y"})
    for fields in ("c,a", "a,missing", "a,b,c"):
        headers = ",".join(f"h{index}" for index in range(fields.count(",") + 1))
        settings = {"fields": fields, "headers": headers, "operation": operation}
        assert_same(java_oracle, "HeaderFrom$Value", settings, OracleRecord(data), "json", "json-schemas")


@pytest.mark.parametrize("value", [None, b"null", b"5", b"[]", b'"x"'])
def test_values_without_fields_fail(java_oracle: JavaOracle, value: bytes | None) -> None:
    settings = {"fields": "a", "headers": "h", "operation": "copy"}
    assert_same(java_oracle, "HeaderFrom$Value", settings, OracleRecord(value))


@pytest.mark.parametrize("data", [envelope(TEXT, "x"), envelope(struct_of({"a": TEXT}) | OPTIONAL, None)])
def test_values_without_fields_fail_with_a_schema(java_oracle: JavaOracle, data: bytes) -> None:
    settings = {"fields": "a", "headers": "h", "operation": "move"}
    assert_same(java_oracle, "HeaderFrom$Value", settings, OracleRecord(data), "json", "json-schemas")


@pytest.mark.parametrize(
    "settings",
    [
        {"fields": "a", "headers": "h,i", "operation": "copy"},
        {"fields": "a,a", "headers": "h,i", "operation": "copy"},
        {"fields": "a,b", "headers": "h,h", "operation": "copy"},
        {"fields": "a,a", "headers": "h,h", "operation": "move"},
        {"fields": "a", "headers": "h", "operation": "Move"},
        {"fields": "a", "headers": "h", "operation": "drop"},
        {"fields": "", "headers": "", "operation": "copy"},
        {"fields": "a,", "headers": "h,", "operation": "copy"},
        {"fields": "a", "headers": "h"},
        {"fields": " a , b ", "headers": " h , i ", "operation": "copy"},
    ],
)
def test_settings_are_read_as_by_java(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    assert_same(java_oracle, "HeaderFrom$Value", settings, OracleRecord(plain({"a": 1, "b": 2})))


def test_a_copy_leaves_the_bytes_as_they_are() -> None:
    data = b'{ "a":1.50 }'
    message = new_message(OracleRecord(data))
    _stage("copy").apply(message)
    assert message.value.encoded("topic") == data


def test_an_error_says_which_field() -> None:
    data = envelope(struct_of({"b": TEXT}), {"b": "x"})
    with pytest.raises(DataError, match="HeaderFrom: the value has no field 'a'"):
        _stage("move").apply(new_message(OracleRecord(data), "json", "json-schemas"))


def _stage(operation: str) -> Transform:
    stage = new_stage("HeaderFrom$Value", {"fields": "a", "headers": "h", "operation": operation})
    assert isinstance(stage, Transform)
    return stage
