"""The topic of decisions as it is read from real brokers."""

from __future__ import annotations

import time

import pytest

from heliograph.conflicts.decision import encode_decision
from heliograph.control.conflicts.log import DecisionLog
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from tests.control.conflicts.stage import DecisionTopic, decided, decision_topic, now, remove

pytestmark = pytest.mark.kafka


def log_of(cluster: EmbeddedCluster, since_ms: int = 0) -> DecisionLog:
    return DecisionLog(Access("eu", cluster.bootstrap_servers.split(",")), since_ms)


def keys_of(log: DecisionLog) -> list[bytes]:
    return [decision.conflict.key for decision, _ in log.read()]


def test_only_what_is_committed_is_read_and_each_decision_once(topic: DecisionTopic) -> None:
    log = log_of(topic.cluster)
    assert keys_of(log) == []
    assert log.exists
    topic.write(decided(now(), b"a"), decided(now(), b"b"))
    topic.write(decided(now(), b"aborted"), commit=False)
    assert keys_of(log) == [b"a", b"b"]
    assert keys_of(log) == []
    topic.write(decided(now(), b"c"))
    assert keys_of(log) == [b"c"]
    assert keys_of(log_of(topic.cluster)) == [b"a", b"b", b"c"]


def test_what_is_still_open_is_not_waited_for_and_comes_later(topic: DecisionTopic) -> None:
    log = log_of(topic.cluster)
    topic.write(decided(now(), b"a"))
    with topic.pending([(now(), b"b", encode_decision(decided(now(), b"b")))]) as producer:
        began = time.monotonic()
        assert keys_of(log) == [b"a"]
        assert keys_of(log) == []
        assert time.monotonic() - began < 5
        producer.end(commit=True)
    topic.await_end()
    assert keys_of(log) == [b"b"]


def test_reading_begins_at_a_time(topic: DecisionTopic) -> None:
    at = now()
    topic.write(decided(at - 7_200_000, b"old"))
    topic.write(decided(at - 3_600_001, b"just before"), decided(at - 3_600_000, b"first"), decided(at, b"new"))
    assert keys_of(log_of(topic.cluster, at - 3_600_000)) == [b"first", b"new"]
    later = log_of(topic.cluster, at + 1)
    assert keys_of(later) == []
    topic.write(decided(at + 1, b"newer"))
    assert keys_of(later) == [b"newer"]


def test_what_is_no_decision_is_counted_and_passed_over(topic: DecisionTopic) -> None:
    topic.write(decided(now(), b"a"))
    topic.write_raw([(now(), b"k", b"{}"), (now(), b"k", b"")])
    topic.write(decided(now(), b"b"))
    log = log_of(topic.cluster)
    assert (keys_of(log), log.unreadable) == ([b"a", b"b"], 2)


def test_the_size_is_told(topic: DecisionTopic) -> None:
    topic.write(decided(now(), values=(b"x" * 5_000, b"y")))
    [(_, size)] = log_of(topic.cluster).read()
    assert 5_000 < size < 6_000


def test_a_topic_that_goes_and_comes_again_is_read_from_its_beginning(primary: EmbeddedCluster) -> None:
    with decision_topic(primary) as topic:
        topic.write(decided(now(), b"a"), decided(now(), b"b"))
        log = log_of(primary)
        assert keys_of(log) == [b"a", b"b"]
    assert keys_of(log) == []
    assert not log.exists
    with decision_topic(primary) as topic:
        topic.write(decided(now(), b"c"))
        assert keys_of(log) == [b"c"]
    with decision_topic(primary) as topic:  # nobody has looked meanwhile, and it is longer than the one before
        topic.write(*(decided(now(), str(number).encode()) for number in range(9)))
        assert len(keys_of(log)) == 9


def test_a_missing_topic_is_no_error_and_is_not_made(primary: EmbeddedCluster) -> None:
    remove(primary)
    log = log_of(primary)
    for _ in range(2):
        assert keys_of(log) == []
        assert not log.exists
