"""Beside a real MirrorMaker 2 with its usual settings the monitor tells the truth, also once it has stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.mirrormaker import MirrorMaker2
from heliograph.monitor.lag import Method, TopicLag
from heliograph.monitor.look import LatencyMethod, Look
from heliograph.monitor.observer import Observer
from tests.monitor.scene import append, lags, topic_of
from tests.waiting import wait_until
from tests.zoo.raw import Record
from tests.zoo.topics import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.oracle, pytest.mark.long]

_TOPIC = "monitored-orders"
_FACTORS = ("heartbeats.topic", "offset-syncs.topic", "checkpoints.topic", "offset.storage", "status.storage")


def _settings(source: EmbeddedCluster, target: EmbeddedCluster) -> dict[str, str]:
    return {
        "clusters": "foreign, home",
        "foreign.bootstrap.servers": source.bootstrap_servers,
        "home.bootstrap.servers": target.bootstrap_servers,
        "foreign->home.enabled": "true",
        "topics": _TOPIC,
        "groups": "none",
        "refresh.topics.interval.seconds": "1",
        "replication.factor": "1",
        "offset.storage.partitions": "2",
        "status.storage.partitions": "1",
        "config.storage.replication.factor": "1",
        **{f"{name}.replication.factor": "1" for name in _FACTORS},
    }


def _send(cluster: EmbeddedCluster, partition: int, count: int) -> None:
    records = [Record(0, 1_700_000_000_000 + number, b"k", b"v") for number in range(count)]
    append(cluster.bootstrap_servers, _TOPIC, partition, records)


def _latency(look: Look) -> tuple[LatencyMethod | None, int]:
    return (look.latency.method, look.latency.milliseconds) if look.latency else (None, -1)


def test_lag_and_latency_while_it_runs_and_after_it_has_stopped(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    create_topic(primary.bootstrap_servers, _TOPIC, 2)
    _send(primary, 0, 250)
    _send(primary, 1, 30)
    with MirrorMaker2(_settings(primary, backup), tmp_path):
        flow = load(tmp_path / "mm2.properties").flow("foreign->home")
        assert flow is not None
        observer = Observer(flow)

        def found() -> TopicLag:
            return topic_of(observer.look(), _TOPIC)

        wait_until(lambda: found().lag_records == 0, "MirrorMaker 2 to catch up", 60)
        wait_until(lambda: _latency(observer.look())[0] is LatencyMethod.ARRIVAL, "heartbeats", 60)
        assert _latency(observer.look())[1] < 10_000
        _send(primary, 0, 7)
        wait_until(lambda: lags(found()) == [0, 0] and found().partitions[0].end == 257, "the new records", 60)
        assert found().method is Method.SYNCS  # its positions are up to a minute late

    assert lags(found()) == [0, 0]
    _send(primary, 0, 40)
    first = observer.look()
    _send(primary, 1, 5)
    second = observer.look()

    assert lags(topic_of(first, _TOPIC)) == [40, 0]
    assert lags(topic_of(second, _TOPIC)) == [40, 5]
    assert _latency(first)[0] is _latency(second)[0] is LatencyMethod.AGE
    assert 0 < _latency(first)[1] < _latency(second)[1]
    fresh = topic_of(Observer(flow).look(), _TOPIC)
    assert (lags(fresh), fresh.lag_records) == ([40, 5], 45)
