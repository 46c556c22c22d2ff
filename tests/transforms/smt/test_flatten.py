"""Flatten beside Kafka's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.flatten import Flatten
from heliograph.transforms.struct import Struct
from tests.transforms.comparison import new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides, envelope, field, plain, struct

INT = Schema(Type.INT32)
OPTIONAL = Schema(Type.INT32, is_optional=True)
SPECIAL = {
    "two of one name": envelope(
        struct(field("a.b", "int32"), field("a", "struct", fields=[field("b", "int32")])), {"a.b": 1, "a": {"b": 2}}
    ),
    "a map": envelope(
        struct(field("a", "struct", fields=[field("m", "map", keys={"type": "string"}, values={"type": "int32"})])),
        {"a": {"m": {"x": 1}}},
    ),
    "an optional struct of required fields": envelope(
        struct(field("a", "struct", optional=True, fields=[field("b", "int32", doc="d")]), optional=True, name="N"),
        {"a": {"b": 2}},
    ),
    "without a name on the way": plain({"": {"": 1, "a": {"": {"b": 2}}}}),
}
ALL = SAMPLES | SPECIAL


@pytest.mark.parametrize("sample", ALL.values(), ids=ALL.keys())
@pytest.mark.parametrize("settings", [{}, {"delimiter": "_"}, {"delimiter": ""}, {"delimiter": "->"}], ids=str)
def test_flattens_as_java_does(java_oracle: JavaOracle, settings: dict[str, str], sample: Sample) -> None:
    assert_same_on_both_sides(java_oracle, "Flatten", settings, sample)


@pytest.mark.parametrize("name", ["two of one name", "a map"])
def test_fails_where_a_schema_cannot_be_flat(java_oracle: JavaOracle, name: str) -> None:
    answers = assert_same_on_both_sides(java_oracle, "Flatten", {}, SPECIAL[name])
    assert all(isinstance(answer, OracleError) for answer in answers)


def flattened(schema: Schema, value: Struct) -> tuple[Schema, Struct]:
    flatten = new_stage("Flatten$Value", {})
    assert isinstance(flatten, Flatten)
    message = new_message(OracleRecord(b"{}"))
    message.value.replace(schema, value)
    flat_schema, flat, _ = flatten.apply(message).value.parsed("topic")
    assert flat_schema is flat.schema
    return flat_schema, flat


def test_fields_get_the_defaults_of_structs_around_them() -> None:
    """As Kafka's code does it; through its JSON, no struct can have a default."""
    inner = Schema(Type.STRUCT, fields=(Field("b", INT), Field("c", replace(INT, default=3)), Field("d", OPTIONAL)))
    around = replace(inner, default=Struct(inner, {"b": 7, "c": 8}))
    schema = Schema(Type.STRUCT, name="N", is_optional=True, fields=(Field("a", around),))
    flat_schema, flat = flattened(schema, Struct(schema))
    assert flat_schema == Schema(
        Type.STRUCT,
        name="N",
        fields=(
            Field("a.b", Schema(Type.INT32, is_optional=True, default=7)),
            Field("a.c", Schema(Type.INT32, is_optional=True, default=3)),
            Field("a.d", OPTIONAL),
        ),
    )
    assert flat.values == {}
    assert [flat.get(name) for name in ("a.b", "a.c", "a.d")] == [7, 3, None]


def test_nulls_become_the_defaults_of_their_own_fields() -> None:
    inner = Schema(Type.STRUCT, fields=(Field("b", replace(OPTIONAL, default=3)), Field("c", OPTIONAL)))
    schema = Schema(Type.STRUCT, fields=(Field("a", inner),))
    _, flat = flattened(schema, Struct(schema, {"a": Struct(inner, {"b": None})}))
    assert flat.values == {"a.b": 3, "a.c": None}


def test_a_value_may_be_deeper_than_python_can_call() -> None:
    depth = 5000
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    message = new_message(OracleRecord(b"{}"))
    message.value.replace(None, value)
    flatten = Flatten(is_key=False)
    flatten.configure({"delimiter": ""})
    flat = flatten.apply(message).value.encoded("topic")
    assert flat is not None
    assert json.loads(flat) == {"a" * depth: 1}
