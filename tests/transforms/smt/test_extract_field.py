"""ExtractField beside Kafka's."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.extract_field import ExtractField
from heliograph.transforms.smt.field_path import FieldPath
from heliograph.transforms.struct import Struct
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides

SETTINGS = [
    {"field": "a"},
    {"field": "b"},
    {"field": "c", "replace.null.with.default": "false"},
    {"field": "nested"},
    {"field": "nested.a"},
    {"field": "a.b"},
    {"field": ""},
    {"field": "nested.a", "field.syntax.version": "V2"},
    {"field": "nested.b", "field.syntax.version": "v2", "replace.null.with.default": "false"},
    {"field": "a.b.`d.e`", "field.syntax.version": "V2"},
    {"field": "a.b.c.d", "field.syntax.version": "V2"},
    {"field": "`a.b`", "field.syntax.version": "V2"},
    {"field": "é😀.", "field.syntax.version": "V2"},
    {"field": "moment", "field.syntax.version": "V1"},
    {"field": "money"},
]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("stage", SETTINGS, ids=str)
def test_takes_the_field_that_java_takes(java_oracle: JavaOracle, stage: dict[str, str], sample: Sample) -> None:
    assert_same_on_both_sides(java_oracle, "ExtractField", stage, sample)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(path=strategies.text("ab.`\\", min_size=1, max_size=12))
def test_any_path_is_read_as_by_java(java_oracle: JavaOracle, path: str) -> None:
    """What we think the way is, is laid out; Java must find the end of it."""
    stage = {"field": path, "field.syntax.version": "V2"}
    try:
        steps = FieldPath.parse(path, "V2").steps
    except ValueError:
        steps = ("a",)
    value: object = "here"
    for step in reversed(steps):
        value = {step: value, f"{step}?": "not here"}
    answer = assert_same(java_oracle, "ExtractField$Value", stage, OracleRecord(json.dumps(value).encode()))
    assert isinstance(answer, OracleError) or (answer and answer.value == b'"here"')


@pytest.mark.parametrize(("wanted", "expected"), [("true", 5), ("false", None)])
@pytest.mark.parametrize("path", ["a", "nested.a"])
def test_nulls_become_defaults_only_if_wanted(path: str, wanted: str, expected: int | None) -> None:
    extract = new_stage(
        "ExtractField$Value", {"field": path, "field.syntax.version": "V2", "replace.null.with.default": wanted}
    )
    assert isinstance(extract, ExtractField)
    field = Field("a", Schema(Type.INT32, is_optional=True, default=5))
    inner = Schema(Type.STRUCT, fields=(field,))
    schema = Schema(Type.STRUCT, fields=(field, Field("nested", inner)))
    message = new_message(OracleRecord(b"{}"))
    message.value.replace(schema, Struct(schema, {"nested": Struct(inner, {"a": None})}))
    assert extract.apply(message).value.parsed("topic")[:2] == (field.schema, expected)


def test_a_value_that_is_left_alone_keeps_its_bytes() -> None:
    extract = new_stage("ExtractField$Value", {"field": "a"})
    assert isinstance(extract, ExtractField)
    assert extract.apply(new_message(OracleRecord(b" null "))).value.encoded("topic") == b" null "


@pytest.mark.parametrize(
    "stage",
    [
        {},
        {"field": "a", "field.syntax.version": "V3"},
        {"field": "`a", "field.syntax.version": "V2"},
        {"field": "a", "replace.null.with.default": "perhaps"},
    ],
    ids=str,
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, stage: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "ExtractField$Value", stage, OracleRecord(b'{"a":1}'))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"
