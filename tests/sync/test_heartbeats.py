"""Heartbeats on real brokers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.model import TopicPartition
from heliograph.policy.replication import SOURCE_ALIAS_KEY, DefaultReplicationPolicy
from heliograph.sync.heartbeats import Heartbeats
from tests.checker.stock_reader import read_committed
from tests.zoo.topics import fresh_name

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]


class PulsePolicy(DefaultReplicationPolicy):
    """Gives each flow a topic for heartbeats that no other flow writes to."""

    def configure(self, settings: Mapping[str, str]) -> None:
        """The name tells the source."""
        super().configure(settings)
        self._source_alias = settings[SOURCE_ALIAS_KEY]

    def heartbeats_topic(self) -> str:
        """Not the usual name, which mirrors of other tests write to as well."""
        return f"pulse-of-{self._source_alias}"


def test_each_run_writes_one_to_the_target_whether_the_flow_is_enabled_or_not(
    cluster_pair: Pair, tmp_path: Path
) -> None:
    here, there = fresh_name("here"), fresh_name("there")
    forth, back = _flows(tmp_path, cluster_pair, here, there)
    assert forth.enabled
    assert not back.enabled
    times = [_now_ms()]
    with Heartbeats(forth) as forth_beats, Heartbeats(back) as back_beats:
        for heartbeats in (forth_beats, back_beats, forth_beats):
            heartbeats.run()
            times.append(_now_ms())

    first, second = _heartbeats(cluster_pair[1], f"pulse-of-{here}")
    [other] = _heartbeats(cluster_pair[0], f"pulse-of-{there}")
    assert first == Heartbeat(here, there, first.timestamp_ms)
    assert second == Heartbeat(here, there, second.timestamp_ms)
    assert other == Heartbeat(there, here, other.timestamp_ms)
    assert (
        times[0] <= first.timestamp_ms <= times[1] <= other.timestamp_ms <= times[2] <= second.timestamp_ms <= times[3]
    )
    for flow, elsewhere in ((forth, back), (back, forth)):
        name = flow.replication_policy.heartbeats_topic()
        with Admin(access_for(flow.target, "admin")) as admin:
            assert admin.topics([name])[name].partitions == 1
            assert admin.topic_settings([name])[name]["cleanup.policy"].value == "compact"
        with Admin(access_for(elsewhere.target, "admin")) as admin:
            assert name not in admin.topics()


def _flows(folder: Path, pair: Pair, here: str, there: str) -> tuple[FlowConfig, FlowConfig]:
    """A flow that is enabled, and its opposite, which is not."""
    path = folder / "mm2.properties"
    path.write_text(
        f"clusters={here},{there}\n{here}.bootstrap.servers={pair[0].bootstrap_servers}\n"
        f"{there}.bootstrap.servers={pair[1].bootstrap_servers}\n{here}->{there}.enabled=true\n"
        f"{there}->{here}.enabled=false\nreplication.factor=1\n"
        f"replication.policy.class={PulsePolicy.__module__}.{PulsePolicy.__name__}\n"
    )
    config = load(path, environment={})
    forth, back = config.flow(f"{here}->{there}"), config.flow(f"{there}->{here}")
    assert forth is not None
    assert back is not None
    return forth, back


def _heartbeats(cluster: EmbeddedCluster, topic: str) -> list[Heartbeat]:
    seen = read_committed(cluster.bootstrap_servers, TopicPartition(topic, 0))
    return [Heartbeat.decode(item.content.key, item.content.value) for item in seen]


def _now_ms() -> int:
    return int(time.time() * 1000)
