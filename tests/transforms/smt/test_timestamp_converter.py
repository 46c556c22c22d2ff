"""TimestampConverter does as Java's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.errors import DataError
from heliograph.transforms.schema import Instant
from heliograph.transforms.stage import Transform
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.samples import (
    A_DATE,
    A_TIME,
    A_TIMESTAMP,
    BOOLEAN,
    DOUBLE,
    INT32,
    INT64,
    OPTIONAL,
    TEXT,
    array_of,
    envelope,
    plain,
    struct_of,
)

_TARGETS = ["string", "unix", "Date", "Time", "Timestamp"]
_PRECISIONS = ["seconds", "milliseconds", "microseconds", "nanoseconds"]
_FORMAT = "yyyy-MM-dd HH:mm:ss.SSS"
_PLAIN: list[Any] = [
    0, -1, 1_700_000_000_123, -1_700_000_000_123, 2**62, -(2**62), 2**63 - 1, 1_699_999_999_999_999,
    "2024-02-29 10:11:12.345", "2024-2-9 1:2:3.4", "nonsense", "", 1.5, True, None, [], {},
]  # fmt: skip
_TYPED: list[tuple[dict[str, Any], list[Any]]] = [
    (INT64, [0, -1, 1_700_000_000_123, 2**62]),
    (TEXT, ["2024-02-29 10:11:12.345", "nonsense"]),
    (A_DATE, [0, 19_000, -1]),
    (A_TIME, [0, 86_399_999]),
    (A_TIMESTAMP, [0, -1, 1_700_000_000_123]),
    (INT32, [5]),
    (DOUBLE, [1.5]),
    (BOOLEAN, [True]),
    (array_of(INT64), [[1]]),
]
_WITH_ORACLE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100)


def _settings(target: str, **more: str) -> dict[str, str]:
    return {"target.type": target, "format": _FORMAT, **{key.replace("_", "."): text for key, text in more.items()}}


@pytest.mark.parametrize("precision", _PRECISIONS)
@pytest.mark.parametrize("target", _TARGETS)
def test_values_without_a_schema(java_oracle: JavaOracle, target: str, precision: str) -> None:
    for value in _PLAIN:
        given_settings = _settings(target, unix_precision=precision)
        assert_same(java_oracle, "TimestampConverter$Value", given_settings, OracleRecord(plain(value)))
        record = OracleRecord(None, plain({"a": value, "b": 1}))
        assert_same(java_oracle, "TimestampConverter$Key", given_settings | {"field": "a"}, record)


@pytest.mark.parametrize("precision", _PRECISIONS)
@pytest.mark.parametrize("target", _TARGETS)
def test_values_with_a_schema(java_oracle: JavaOracle, target: str, precision: str) -> None:
    given_settings = _settings(target, unix_precision=precision)
    for schema, payloads in _TYPED:
        for payload in payloads:
            for optional in ({}, OPTIONAL):
                _same(java_oracle, given_settings, envelope(schema | optional, payload))
                fields = struct_of({"a": schema | optional, "b": TEXT}, name="n", version=2, **optional)
                _same(java_oracle, given_settings | {"field": "a"}, envelope(fields, {"a": payload, "b": "x"}))


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize(
    "data",
    [
        envelope(struct_of({"a": INT64 | OPTIONAL}), {"a": None}),
        envelope(struct_of({"a": INT64 | {"default": 7}}), {"a": None}),
        envelope(struct_of({"a": INT64 | {"default": 7}, "b": TEXT | {"default": "d"}}), {}),
        envelope(struct_of({"a": INT64}, default={"a": 7}), {"a": 8}),
        envelope(struct_of({"a": INT64}, default={"a": 7}), None),
        envelope(struct_of({"a": INT64}) | OPTIONAL, None),
        envelope(struct_of({"b": INT64}), {"b": 5}),
        envelope(INT64 | OPTIONAL, None),
        envelope(INT64 | {"default": 7}, None),
        envelope(INT64, 5),
        envelope(None, {"a": 5}),
        envelope(None, None),
        envelope(BOOLEAN | OPTIONAL, None),
    ],
)
def test_nulls_defaults_and_missing_fields(java_oracle: JavaOracle, target: str, data: bytes) -> None:
    for more in ({}, {"field": "a"}, {"field": "a", "replace.null.with.default": "false"}):
        _same(java_oracle, _settings(target) | more, data)


@pytest.mark.parametrize("value", [None, b"null", b"{}", b'{"b":1}', b"5", b"[]"])
def test_other_values_and_missing_fields(java_oracle: JavaOracle, value: bytes | None) -> None:
    for target in ("unix", "string"):
        assert_same(java_oracle, "TimestampConverter$Value", _settings(target, field="a"), OracleRecord(value))


@pytest.mark.parametrize(
    "given_settings",
    [
        {},
        {"target.type": "string"},
        {"target.type": "string", "format": "  "},
        {"target.type": "unix"},
        {"target.type": "Unix"},
        {"target.type": " unix ", "unix.precision": " seconds ", "field": " a "},
        {"target.type": "date"},
        {"target.type": "unix", "format": "bad"},
        {"target.type": "unix", "unix.precision": "minutes"},
        {"target.type": "unix", "replace.null.with.default": "x"},
        {"target.type": "string", "format": "yyyy", "field": ""},
    ],
)
def test_settings_are_read_as_by_java(java_oracle: JavaOracle, given_settings: dict[str, str]) -> None:
    for value in (5, "2024", {"a": 5}):
        assert_same(java_oracle, "TimestampConverter$Value", given_settings, OracleRecord(plain(value)))


@pytest.mark.parametrize("converter", ["string", "bytes"])
def test_strings_and_bytes(java_oracle: JavaOracle, converter: str) -> None:
    for target in ("unix", "string"):
        record = OracleRecord(b"2024-02-29 10:11:12.345")
        assert_same(java_oracle, "TimestampConverter$Value", _settings(target), record, "json", converter)


@_WITH_ORACLE
@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(_PRECISIONS))
def test_any_number(java_oracle: JavaOracle, number: int, precision: str) -> None:
    for target in ("unix", "Timestamp"):
        _same(java_oracle, _settings(target, unix_precision=precision), envelope(INT64, number))
    _same(java_oracle, _settings("Date", unix_precision=precision), envelope(INT64, number // 2**20))


def test_a_date_without_a_schema_can_go_on_to_the_next_transform() -> None:
    message = new_message(OracleRecord(plain({"a": 1_700_000_000_123})))
    _stage("Date").apply(message)
    assert message.value.parsed("topic").value == {"a": Instant(1_699_920_000_000)}
    _stage("string").apply(message)
    assert message.value.encoded("topic") == b'{"a":"2023-11-14 00:00:00.000"}'


def test_an_error_says_which_field_and_what_was_expected_but_not_the_value() -> None:
    with pytest.raises(DataError, match=r"the value: field 'a' does not look like yyyy-MM-dd HH:mm:ss\.SSS") as raised:
        _stage("unix").apply(new_message(OracleRecord(plain({"a": "secret"}))))
    assert "secret" not in str(raised.value)


def _stage(target: str) -> Transform:
    stage = new_stage("TimestampConverter$Value", _settings(target, field="a"))
    assert isinstance(stage, Transform)
    return stage


def _same(oracle: JavaOracle, given_settings: dict[str, str], data: bytes) -> OracleRecord | OracleError | None:
    return assert_same(oracle, "TimestampConverter$Value", given_settings, OracleRecord(data), "json", "json-schemas")
