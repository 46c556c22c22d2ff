"""MaskField beside Kafka's."""

from __future__ import annotations

import json

import pytest

from heliograph.errors import DataError
from heliograph.transforms.schema import Field, Schema, Type
from heliograph.transforms.smt.mask_field import MaskField
from heliograph.transforms.struct import Struct
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides

FIELDS = ["a", "b,c", "a,nested", "d,f,g", "e"]
TYPES = [
    "i8", "i16", "i32", "i64", "f32", "f64", "flag", "text", "data", "list", "map", "money", "count", "date", "time",
    "moment", "nested",
]  # fmt: skip
REPLACEMENTS = [
    "xxx", "7", "-1", "300", "70000", "3e10", "99999999999999999999", "1.9", "-1.9", ".5", "1.", "+5", "1e3", "1e40",
    "1e-400", "1e400", "1e2147483647", "1e2147483648", "1_0", "NaN", "0x10", "1f", "١",
]  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("replacement", [None, "42", "***"])
@pytest.mark.parametrize("fields", FIELDS)
def test_masks_what_java_masks(java_oracle: JavaOracle, fields: str, replacement: str | None, sample: Sample) -> None:
    settings = {"fields": fields} if replacement is None else {"fields": fields, "replacement": replacement}
    assert_same_on_both_sides(java_oracle, "MaskField", settings, sample)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("replacement", [None, *REPLACEMENTS])
def test_masks_every_type_as_java_does(java_oracle: JavaOracle, replacement: str | None, name: str) -> None:
    settings = {"fields": name} if replacement is None else {"fields": name, "replacement": replacement}
    assert_same_on_both_sides(java_oracle, "MaskField", settings, SAMPLES["every type"])


@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_masks_plain_values_with_what_java_makes_of_a_replacement(java_oracle: JavaOracle, replacement: str) -> None:
    for value in (b'{"a":1}', b'{"a":1.5}', b'{"a":1e3}', b'{"a":"x"}', b'{"a":true}', b'{"a":[1]}', b'{"a":null}'):
        assert_same(java_oracle, "MaskField$Value", {"fields": "a", "replacement": replacement}, OracleRecord(value))


@pytest.mark.parametrize(("wanted", "expected"), [("true", {"a": 0, "b": 5}), ("false", {"a": None, "b": None})])
def test_nulls_become_defaults_only_if_wanted(wanted: str, expected: dict[str, int | None]) -> None:
    mask = new_stage("MaskField$Value", {"fields": "a", "replace.null.with.default": wanted})
    assert isinstance(mask, MaskField)
    number = Schema(Type.INT32, is_optional=True, default=5)
    schema = Schema(Type.STRUCT, fields=(Field("a", number), Field("b", number)))
    message = new_message(OracleRecord(b"{}"))
    message.value.replace(schema, Struct(schema, {"a": None}))
    assert mask.apply(message).value.parsed("topic").value == Struct(schema, expected)


@pytest.mark.parametrize(
    "settings",
    [{}, {"fields": ""}, {"fields": "a,"}, {"fields": "a", "replacement": ""}, {"fields": "a,,b"}],
    ids=str,
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "MaskField$Value", settings, OracleRecord(b'{"a":1}'))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"


def test_a_failure_names_the_field_but_not_its_value() -> None:
    mask = new_stage("MaskField$Value", {"fields": "email", "replacement": "1"})
    assert isinstance(mask, MaskField)
    message = new_message(OracleRecord(b'{"email":["ann@example.com"]}'))
    with pytest.raises(
        DataError, match=r"^MaskField: the value: field 'email' is a list and cannot be masked"
    ) as caught:
        mask.apply(message)
    assert "example.com" not in str(caught.value)


def test_masked_lists_are_not_shared_between_messages() -> None:
    mask = new_stage("MaskField$Value", {"fields": "a"})
    assert isinstance(mask, MaskField)
    first, second = (mask.apply(new_message(OracleRecord(b'{"a":[1]}'))).value for _ in range(2))
    first.parsed("topic").value["a"].append("changed by somebody")
    assert json.loads(second.encoded("topic") or b"") == {"a": []}


def test_what_it_takes_out_must_not_be_seen() -> None:
    assert MaskField.hides_data
