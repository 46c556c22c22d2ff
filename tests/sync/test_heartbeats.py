"""Heartbeats on real brokers."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.model import TopicPartition
from heliograph.sync.heartbeats import Heartbeats
from tests.checker.stock_reader import read_committed
from tests.sync.moving import make_moving

pytestmark = pytest.mark.kafka


def test_each_run_writes_one_to_the_target_whether_the_flow_is_enabled_or_not(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    moving = make_moving(tmp_path, cluster_pair, "none")
    flow = moving.flow
    assert not moving.opposite.enabled
    times = [_now_ms()]
    with Heartbeats(flow) as forth, Heartbeats(moving.opposite) as back:
        for heartbeats in (forth, back, forth):
            heartbeats.run()
            times.append(_now_ms())

    here, there = _heartbeats(moving.source), _heartbeats(moving.target)
    written = [
        item.timestamp_ms for item in there if (item.source_alias, item.target_alias) == (moving.name, "shelter")
    ]
    assert len(written) == 2
    assert times[0] <= written[0] <= times[1] <= times[2] <= written[1] <= times[3]
    assert [item.target_alias for item in here if item.source_alias == "shelter"].count(moving.name) == 1
    assert not [item for item in here if item.source_alias == moving.name]
    with Admin(access_for(flow.target, "admin")) as admin:
        assert admin.topics(["heartbeats"])["heartbeats"].partitions == 1
        assert admin.topic_settings(["heartbeats"])["heartbeats"]["cleanup.policy"].value == "compact"


def _heartbeats(servers: str) -> list[Heartbeat]:
    seen = read_committed(servers, TopicPartition("heartbeats", 0))
    return [Heartbeat.decode(item.content.key, item.content.value) for item in seen]


def _now_ms() -> int:
    return int(time.time() * 1000)
