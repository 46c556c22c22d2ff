"""ReplaceField beside Kafka's."""

from __future__ import annotations

import json

import pytest

from heliograph.transforms.smt.replace_field import ReplaceField
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides, envelope, field, struct

SETTINGS = [
    {},
    {"exclude": "a"},
    {"exclude": "a,nested,map"},
    {"include": "a,b"},
    {"include": "a,b", "exclude": "b"},
    {"exclude": "nested", "renames": "a:z,text:t2"},
    {"renames": "a:b,b:a"},
    {"renames": "a:b", "exclude": "b"},
    {"include": "none"},
    {"include": "b,c", "replace.null.with.default": "false"},
    {"renames": "a:x:"},
    {"renames": ":x"},
]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_keeps_what_java_keeps(java_oracle: JavaOracle, settings: dict[str, str], sample: Sample) -> None:
    assert_same_on_both_sides(java_oracle, "ReplaceField", settings, sample)


def test_two_fields_of_one_name_fail_with_a_schema(java_oracle: JavaOracle) -> None:
    sample = SAMPLES["optional fields set"]
    answers = assert_same_on_both_sides(java_oracle, "ReplaceField", {"renames": "a:c"}, sample)
    assert all(isinstance(answer, OracleError) for answer in answers)


def test_an_excluded_field_never_comes_back_under_the_name_of_another() -> None:
    """Kafka fills b from the excluded a here."""
    data, converter = envelope(struct(field("a", "string"), field("b", "string")), {"a": "secret", "b": "open"})
    replace = new_stage("ReplaceField$Value", {"exclude": "a", "renames": "a:b"})
    assert isinstance(replace, ReplaceField)
    message = replace.apply(new_message(OracleRecord(data), "json", converter))
    assert json.loads(message.value.encoded("topic") or b"")["payload"] == {"b": "open"}


@pytest.mark.parametrize(
    "settings",
    [{"renames": "a"}, {"renames": "a:"}, {"renames": "a:b:c"}, {"exclude": "a,"}, {"include": ","}],
    ids=str,
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "ReplaceField$Value", settings, OracleRecord(b'{"a":1}'))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"


def test_what_it_takes_out_must_not_be_seen() -> None:
    assert ReplaceField.hides_data
