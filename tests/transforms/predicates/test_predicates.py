"""Kafka Connect's predicates beside the real ones."""

from __future__ import annotations

import pytest

from heliograph.transforms.predicates.has_header_key import HasHeaderKey
from heliograph.transforms.predicates.record_is_tombstone import RecordIsTombstone
from heliograph.transforms.predicates.topic_name_matches import TopicNameMatches
from tests.transforms.comparison import assert_same_predicate, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleError, OracleRecord


@pytest.mark.parametrize(
    "headers", [(), (("a", b"1"),), (("a", None),), (("b", None), ("a", None), ("a", b"2")), (("A", b"1"),)]
)
@pytest.mark.parametrize("name", ["a", "A", "é"])
def test_header_keys_are_found_as_in_java(
    java_oracle: JavaOracle, name: str, headers: tuple[tuple[str, bytes | None], ...]
) -> None:
    assert_same_predicate(java_oracle, "HasHeaderKey", {"name": name}, OracleRecord(b"1", headers=headers))


@pytest.mark.parametrize("value", [None, b'{"a":null}', b"{}", b'""', b"0"])
def test_tombstones_are_found_as_in_java(java_oracle: JavaOracle, value: bytes | None) -> None:
    assert assert_same_predicate(java_oracle, "RecordIsTombstone", {}, OracleRecord(value, b"1")) is (value is None)


def test_a_value_that_a_transform_made_null_is_a_tombstone() -> None:
    message = new_message(OracleRecord(b'{"a":1}'))
    message.value.replace(None, None)
    assert RecordIsTombstone().test(message)


@pytest.mark.parametrize("topic", ["orders", "A.orders", "orders-2", ""])
@pytest.mark.parametrize("pattern", ["orders", ".*orders", "order|orders", r"A\..*", "(?i)ORDERS", "rder", r"\w+-\d"])
def test_topics_match_as_in_java(java_oracle: JavaOracle, pattern: str, topic: str) -> None:
    settings = {"pattern": pattern}
    answer = assert_same_predicate(java_oracle, "TopicNameMatches", settings, OracleRecord(b"1", topic=topic))
    predicate = new_stage("TopicNameMatches", settings)
    assert isinstance(predicate, TopicNameMatches)
    assert predicate.test_topic(topic) is answer


def test_only_the_name_of_the_topic_tells_before_any_record_comes() -> None:
    has_header = new_stage("HasHeaderKey", {"name": "a"})
    assert isinstance(has_header, HasHeaderKey)
    assert has_header.test_topic("orders") is None
    assert RecordIsTombstone().test_topic("orders") is None


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("HasHeaderKey", {}),
        ("HasHeaderKey", {"name": ""}),
        ("TopicNameMatches", {}),
        ("TopicNameMatches", {"pattern": ""}),
        ("TopicNameMatches", {"pattern": "["}),
    ],
)
def test_refuses_the_settings_that_java_refuses(java_oracle: JavaOracle, name: str, settings: dict[str, str]) -> None:
    assert isinstance(assert_same_predicate(java_oracle, name, settings, OracleRecord(b"1")), OracleError)
    with pytest.raises(ValueError, match=r"name|pattern"):
        new_stage(name, settings)
