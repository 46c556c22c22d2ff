"""Metrics show what was read in one look, and nothing else."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from heliograph.monitor.lag import Method, PartitionLag, TopicLag
from heliograph.monitor.look import Latency, LatencyMethod, Look, Trouble
from heliograph.monitor.metrics import exposition

_TOPIC = TopicLag(
    "orders.v1", "a.orders.v1", [PartitionLag(0, 4, 0, 10, Method.ENDS), PartitionLag(1, 0, 0, 3, Method.ENDS)]
)
_FLOW = (("source", "a"), ("target", "b"))


def _samples(look: Look, last_success_ms: int | None) -> dict[tuple[object, ...], float]:
    families = list(text_string_to_metric_families(exposition(look, last_success_ms).decode()))
    assert all(family.type == "gauge" and family.documentation for family in families)
    return {
        (sample.name.removeprefix("mirrormaker_"), *sorted(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def test_all_that_was_seen_is_there() -> None:
    look = Look("a", "b", 1, [_TOPIC], Latency(40, LatencyMethod.ARRIVAL))
    topic = ("topic", "orders.v1")
    assert _samples(look, 1_800_000_000_500) == {
        ("monitor_up", *_FLOW): 1,
        ("monitor_last_success_timestamp_seconds", *_FLOW): 1_800_000_000.5,
        ("replication_latency_ms", *_FLOW): 40,
        ("offset_lag", *_FLOW, topic): 9,
        ("partition_lag", ("partition", "0"), *_FLOW, topic): 6,
        ("partition_lag", ("partition", "1"), *_FLOW, topic): 3,
    }


def test_when_nothing_could_be_seen_there_are_no_numbers() -> None:
    look = Look("a", "b", 1, troubles=[Trouble("a", "gone")])
    assert _samples(look, None) == {("monitor_up", *_FLOW): 0}
    assert _samples(look, 5_000) == {
        ("monitor_up", *_FLOW): 0,
        ("monitor_last_success_timestamp_seconds", *_FLOW): 5,
    }


def test_a_topic_of_which_a_part_is_unknown_has_no_sum() -> None:
    part = TopicLag("orders", "a.orders", [PartitionLag(0, 4, 0, 10, Method.ENDS)], unreadable=[1])
    names = {key[0] for key in _samples(Look("a", "b", 1, [part], troubles=[Trouble("a", "gone")]), None)}
    assert names == {"monitor_up", "partition_lag"}
