"""InsertField beside Kafka's."""

from __future__ import annotations

import pytest

from tests.transforms.comparison import assert_same
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord
from tests.transforms.smt.samples import SAMPLES, Sample, assert_same_on_both_sides

SETTINGS = [
    {"topic.field": "topic"},
    {"topic.field": "t!", "partition.field": "p?", "timestamp.field": "ts"},
    {"partition.field": "p!", "timestamp.field": "ts!", "static.field": "s!", "static.value": "fixed"},
    {"static.field": "static", "static.value": ""},
    {"static.field": "a", "static.value": "over another"},
    {"static.field": "!", "static.value": "no name"},
    {"static.field": "s", "static.value": "x", "replace.null.with.default": "false"},
    {"offset.field": "o"},
    {"offset.field": "o", "topic.field": "t"},
]


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_inserts_what_java_inserts(java_oracle: JavaOracle, settings: dict[str, str], sample: Sample) -> None:
    assert_same_on_both_sides(java_oracle, "InsertField", settings, sample)


@pytest.mark.parametrize("name", ["ts", "ts!"])
@pytest.mark.parametrize("sample", ["one", "optional fields set"])
def test_a_record_without_a_timestamp_gets_none(java_oracle: JavaOracle, name: str, sample: str) -> None:
    data, converter = SAMPLES[sample]
    record = OracleRecord(data, timestamp=None)
    assert_same(java_oracle, "InsertField$Value", {"timestamp.field": name}, record, "json", converter)


def test_the_topic_is_what_it_is_called_by_now(java_oracle: JavaOracle) -> None:
    record = OracleRecord(b'{"a":1}', topic="A.orders", partition=3)
    settings = {"topic.field": "from", "partition.field": "part"}
    answer = assert_same(java_oracle, "InsertField$Value", settings, record)
    assert isinstance(answer, OracleRecord)
    assert b"A.orders" in (answer.value or b"")


@pytest.mark.parametrize(
    "settings", [{}, {"static.field": "s"}, {"static.value": "v"}, {"topic.field": "t", "static.field": "s"}], ids=str
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    answer = assert_same(java_oracle, "InsertField$Value", settings, OracleRecord(b"{}"))
    assert isinstance(answer, OracleError)
    assert answer.step == "configure"
