"""Topics that connectors have written to."""

from __future__ import annotations

import time

import httpx
import pytest

from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.model import LedgerEntry, PartitionProgress, Run, TopicPartition
from tests.control.rest_connect.station import CHECKPOINT, HEARTBEAT, SOURCE, put


@pytest.fixture
def flow(mirror: RunningMirror) -> RunningFlow:
    """Its only enabled flow."""
    return mirror.flow("a->b")


def _copy(flow: RunningFlow, topic: str) -> None:
    now = int(time.time() * 1000) + 1
    where = TopicPartition(topic, 0)
    progress = PartitionProgress(where, TopicPartition(f"a.{topic}", 0), [Run(0, 0, 1)], 0, 10, now)
    flow.meter.mirrored(LedgerEntry(flow.name, 0, "o", 1, now, [progress], committed_at_ms=now))


def _topics(client: httpx.Client, path: str) -> list[str]:
    [(name, answer)] = client.get(f"{path}/topics").json().items()
    assert path.endswith(name)
    return list(answer["topics"])


def test_a_topic_is_active_once_records_were_copied_and_until_that_is_forgotten(
    flow: RunningFlow, client: httpx.Client
) -> None:
    assert _topics(client, SOURCE) == []
    _copy(flow, "orders")
    _copy(flow, "payments")
    assert _topics(client, SOURCE) == ["a.orders", "a.payments"]
    time.sleep(0.01)  # times are in milliseconds
    assert put(client, f"{SOURCE}/topics/reset").status_code == 202
    assert _topics(client, SOURCE) == []
    _copy(flow, "orders")
    assert _topics(client, SOURCE) == ["a.orders"]


def test_other_connectors_have_one_topic_once_they_have_written(flow: RunningFlow, client: httpx.Client) -> None:
    assert _topics(client, HEARTBEAT) == _topics(client, CHECKPOINT) == []
    for report in flow.reports():
        report.succeeded("", 0.1)
    assert _topics(client, HEARTBEAT) == ["heartbeats"]
    assert _topics(client, CHECKPOINT) == []  # there was nothing to write
    flow.meter.wrote_checkpoints([Checkpoint("g", TopicPartition("a.t", 0), 1, 1, "")], 1.0)
    assert _topics(client, CHECKPOINT) == ["a.checkpoints.internal"]
