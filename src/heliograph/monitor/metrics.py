"""A look as Prometheus' metrics: only what was read in this very look, and whether all could be read."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from heliograph.monitor.look import Look

_FLOW = ("source", "target")


def exposition(look: Look, last_success_ms: int | None) -> bytes:
    """All metrics of one flow in Prometheus' text format."""
    registry = CollectorRegistry()
    flow = {"source": look.source, "target": look.target}
    _gauge(
        registry, "monitor_up", "1 if the last look at both clusters could read all that it should, else 0", _FLOW
    ).labels(**flow).set(look.is_complete)
    if last_success_ms is not None:
        _gauge(
            registry, "monitor_last_success_timestamp_seconds", "When all could last be read, in Unix time", _FLOW
        ).labels(**flow).set(last_success_ms / 1000)
    if look.latency is not None:
        _gauge(
            registry,
            "replication_latency_ms",
            "Time that a heartbeat took from source to target; the age of the newest one when none arrives",
            _FLOW,
        ).labels(**flow).set(look.latency.milliseconds)
    _add_lags(registry, look, flow)
    return generate_latest(registry)


def _add_lags(registry: CollectorRegistry, look: Look, flow: dict[str, str]) -> None:
    topics = _gauge(
        registry, "offset_lag", "Records of a topic that the source has and the target lacks", (*_FLOW, "topic")
    )
    partitions = _gauge(
        registry,
        "partition_lag",
        "Records of a partition that the source has and the target lacks",
        (*_FLOW, "topic", "partition"),
    )
    for topic in look.topics:
        if topic.lag_records is not None:
            topics.labels(**flow, topic=topic.topic).set(topic.lag_records)
        for item in topic.partitions:
            partitions.labels(**flow, topic=topic.topic, partition=str(item.partition)).set(item.lag_records)


def _gauge(registry: CollectorRegistry, name: str, text: str, labels: tuple[str, ...]) -> Gauge:
    return Gauge(f"mirrormaker_{name}", text, labels, registry=registry)
