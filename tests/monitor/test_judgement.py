"""What a look means: levels of what is known, and a critical alert for what is not."""

from __future__ import annotations

from dataclasses import replace

from heliograph.monitor.alerts import Kind, Level
from heliograph.monitor.judgement import Thresholds, conditions
from heliograph.monitor.lag import Method, PartitionLag, TopicLag
from heliograph.monitor.look import Latency, LatencyMethod, Look, Trouble

_TOPIC = TopicLag("orders", "a.orders", [PartitionLag(0, 0, 0, 11, Method.POSITIONS)])
_LOOK = Look("a", "b", 1, [_TOPIC], Latency(300, LatencyMethod.ARRIVAL))
_THRESHOLDS = Thresholds(10, 100)


def _levels(look: Look, thresholds: Thresholds = _THRESHOLDS) -> dict[Kind, Level]:
    return {item.subject.kind: item.level for item in conditions(look, thresholds)}


def test_lag_and_latency_are_held_against_their_thresholds() -> None:
    assert _levels(_LOOK) == {Kind.LAG: Level.WARNING, Kind.LATENCY: Level.CRITICAL, Kind.CANNOT_LOOK: Level.OK}
    lag = conditions(_LOOK, _THRESHOLDS)[0]
    assert (lag.value, lag.threshold, lag.subject.topic) == (11, 10, "orders")
    assert lag.message == "Topic orders has replication lag of 11 messages"


def test_latency_counts_only_with_a_threshold() -> None:
    assert Kind.LATENCY not in _levels(_LOOK, Thresholds(10))


def test_a_latency_that_should_be_watched_and_cannot_be_is_a_warning() -> None:
    assert _levels(replace(_LOOK, latency=None))[Kind.LATENCY] is Level.WARNING


def test_what_cannot_be_looked_at_is_critical_and_says_where_and_why() -> None:
    look = Look("a", "b", 1, troubles=[Trouble("b", "connection refused")])
    (found,) = conditions(look, _THRESHOLDS)
    assert (found.subject.kind, found.level) == (Kind.CANNOT_LOOK, Level.CRITICAL)
    assert "cannot look at b: connection refused" in found.message


def test_a_lag_that_is_not_known_is_not_judged() -> None:
    look = replace(_LOOK, topics=[replace(_TOPIC, unreadable=[1])], troubles=[Trouble("a", "no leader")])
    assert Kind.LAG not in _levels(look)
