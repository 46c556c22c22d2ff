"""TimestampRouter does as Java's."""

from __future__ import annotations

import pytest

from heliograph.errors import DataError
from heliograph.transforms.stage import Transform
from tests.transforms.comparison import assert_same, new_message, new_stage
from tests.transforms.java_oracle import JavaOracle, OracleRecord


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"topic.format": "a-${topic}-b-${timestamp}-${topic}"},
        {"topic.format": "fixed"},
        {"topic.format": "${topic}.${timestamp}", "timestamp.format": "yyyy-MM-dd'T'HH"},
        {"timestamp.format": "yyyyMMddHHmmssSSS"},
        {"timestamp.format": "YYYY-ww"},
        {"timestamp.format": ""},
        {"topic.format": " ${topic} ", "timestamp.format": " yyyy "},
        {"topic.format": "", "timestamp.format": "yyyy"},
    ],
)
def test_topics_are_named_as_by_java(java_oracle: JavaOracle, settings: dict[str, str]) -> None:
    for timestamp in (0, -1, 1_700_000_000_123, 1_700_000_000_124, 1_735_689_599_999):
        for topic in ("orders", "a.${timestamp}.$1"):
            record = OracleRecord(b"1", topic=topic, timestamp=timestamp, headers=(("h", b"x"),))
            assert_same(java_oracle, "TimestampRouter", settings, record)


def test_a_message_without_a_time_fails(java_oracle: JavaOracle) -> None:
    assert_same(java_oracle, "TimestampRouter", {}, OracleRecord(b"1", timestamp=None))


def test_a_wrong_pattern_is_refused_before_the_first_message() -> None:
    with pytest.raises(ValueError, match=r"timestamp\.format is no pattern of dates: 'b' means nothing"):
        new_stage("TimestampRouter", {"timestamp.format": "bad"})


def test_the_topics_of_many_times_are_right() -> None:
    """More than it remembers."""
    router = new_stage("TimestampRouter", {"timestamp.format": "SSS"})
    assert isinstance(router, Transform)
    for timestamp in [*range(1500), *range(1500)]:
        message = new_message(OracleRecord(b"1", timestamp=timestamp))
        router.apply(message)
        assert message.topic == f"topic-{timestamp % 1000:03d}"


def test_the_bytes_are_not_read() -> None:
    message = new_message(OracleRecord(b"no JSON"))
    router = new_stage("TimestampRouter", {})
    assert isinstance(router, Transform)
    router.apply(message)
    assert message.value.encoded("topic") == b"no JSON"
    with pytest.raises(DataError):
        message.value.parsed("topic")
