"""What a look means: which thresholds are exceeded, and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heliograph.monitor.alerts import Condition, Kind, Level, Subject, level_of
from heliograph.monitor.look import Look


@dataclass(frozen=True)
class Thresholds:
    """Above which lag of a topic, and which latency of a flow, to alert; critical above twice as much."""

    lag_records: int = 10_000
    latency_ms: int | None = None


def conditions(look: Look, thresholds: Thresholds) -> list[Condition]:
    """Every subject of the look that something is known of."""
    return [*_lags(look, thresholds.lag_records), *_latency(look, thresholds.latency_ms), _can_look(look)]


def _lags(look: Look, threshold: int) -> Iterator[Condition]:
    for topic in look.topics:
        lag = topic.lag_records
        if lag is not None:
            subject = Subject(look.source, look.target, Kind.LAG, topic.topic)
            message = f"Topic {topic.topic} has replication lag of {lag} messages"
            yield Condition(subject, level_of(lag, threshold), message, lag, threshold)


def _latency(look: Look, threshold: int | None) -> Iterator[Condition]:
    if threshold is None:
        return
    subject = Subject(look.source, look.target, Kind.LATENCY)
    if look.latency is not None:
        value = look.latency.milliseconds
        message = f"Flow {look.flow} has a replication latency of {value} ms"
        yield Condition(subject, level_of(value, threshold), message, value, threshold)
    elif look.is_complete:
        message = f"Flow {look.flow} has no heartbeats on {look.target}, so that its latency is not known"
        yield Condition(subject, Level.WARNING, message, None, threshold)


def _can_look(look: Look) -> Condition:
    subject = Subject(look.source, look.target, Kind.CANNOT_LOOK)
    if look.is_complete:
        return Condition(subject, Level.OK, f"Flow {look.flow} can be looked at")
    reasons = "; ".join(str(trouble) for trouble in look.troubles)
    return Condition(subject, Level.CRITICAL, f"Flow {look.flow}: {reasons}")
