"""Rounds on real clusters, with a real Pushgateway, a real Alertmanager and a webhook."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from kafka import KafkaAdminClient
from prometheus_client.parser import text_string_to_metric_families

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.monitor.endpoint import Endpoint
from heliograph.monitor.judgement import Thresholds
from heliograph.monitor.monitor import Monitor, Pace, Receivers, Round
from heliograph.monitor.observer import Observer
from tests.monitor.receivers import Hook, running_alertmanager, running_pushgateway
from tests.monitor.scene import Scene, make_scene
from tests.waiting import wait_until
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka

Samples = dict[tuple[str, ...], float]


@pytest.fixture(scope="module")
def pushgateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_pushgateway(tmp_path_factory.mktemp("pushgateway")) as url:
        yield url


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_alertmanager(tmp_path_factory.mktemp("alertmanager")) as url:
        yield url


@pytest.fixture
def scene(tmp_path: Path, primary: EmbeddedCluster, backup: EmbeddedCluster) -> Scene:
    return make_scene(tmp_path, primary, backup)


def _monitor(scene: Scene, receivers: Receivers, lag: int = 10, repeat_minutes: float = 60) -> Monitor:
    return Monitor([Observer(scene.flow)], Thresholds(lag), receivers, Pace(1, repeat_minutes))


def _round(monitor: Monitor) -> Round:
    done = monitor.round(threading.Event())
    assert done is not None
    return done


def _samples(pushgateway: str, client: httpx.Client, source: str) -> Samples:
    """What the Pushgateway shows Prometheus of one flow; name, then topic and partition."""
    text = client.get(f"{pushgateway}/metrics").text
    return {
        (sample.name, *(sample.labels[name] for name in ("topic", "partition") if name in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("source") == source and sample.labels["target"] == "there"
        if sample.name.startswith("mirrormaker_")
    }


def test_metrics_are_pushed_and_vanish_with_their_topic(scene: Scene, pushgateway: str, client: httpx.Client) -> None:
    stays, goes = scene.source_topic("stays", 4, 3), scene.source_topic("goes", 1)
    create_topic(scene.target, scene.heartbeats)
    scene.beat(90_000)
    monitor = _monitor(scene, Receivers(pushgateway=Endpoint("Pushgateway", pushgateway, client)))

    done = _round(monitor)

    samples = _samples(pushgateway, client, scene.alias)
    assert [item.failure for item in done.deliveries] == [""]
    assert samples["mirrormaker_monitor_up",] == 1
    assert samples["mirrormaker_monitor_last_success_timestamp_seconds",] == done.looks[0].at_ms / 1000
    assert 90_000 < samples["mirrormaker_replication_latency_ms",] < 120_000
    assert samples["mirrormaker_offset_lag", stays] == 7
    assert samples["mirrormaker_partition_lag", stays, "0"] == 4
    assert samples["mirrormaker_partition_lag", stays, "1"] == 3
    assert samples["mirrormaker_offset_lag", goes] == 1

    with closing(KafkaAdminClient(bootstrap_servers=scene.source)) as admin:
        admin.delete_topics([goes])
    wait_until(lambda: goes not in {topic.topic for look in _round(monitor).looks for topic in look.topics}, "its end")
    samples = _samples(pushgateway, client, scene.alias)
    assert not [key for key in samples if goes in key]
    assert samples["mirrormaker_offset_lag", stays] == 7

    assert [item.failure for item in monitor.withdraw()] == [""]
    assert not _samples(pushgateway, client, scene.alias)


def test_when_a_cluster_is_gone_only_that_is_pushed(
    scene: Scene, tmp_path: Path, pushgateway: str, client: httpx.Client
) -> None:
    scene.source_topic("orders", 30)
    file = scene.file
    monitor = _monitor(scene, Receivers(pushgateway=Endpoint("Pushgateway", pushgateway, client)))
    _round(monitor)
    assert len(_samples(pushgateway, client, scene.alias)) > 2

    file.write_text(file.read_text().replace(scene.target, f"127.0.0.1:{free_ports(1)[0]}"))
    monitor = _monitor(scene, Receivers(pushgateway=Endpoint("Pushgateway", pushgateway, client)))
    _round(monitor)

    assert _samples(pushgateway, client, scene.alias) == {("mirrormaker_monitor_up",): 0}


def test_a_webhook_hears_warning_critical_and_resolved(scene: Scene, hook: Hook, client: httpx.Client) -> None:
    topic = scene.source_topic("orders", 5)
    monitor = _monitor(scene, Receivers(webhook=Endpoint("webhook", hook.url, client)))
    assert _round(monitor).alerts == []
    scene.send(topic, 0, 10)
    _round(monitor)
    scene.send(topic, 0, 10)
    hook.answer = 503
    assert ["503" in item.failure for item in _round(monitor).deliveries] == [True]
    hook.answer = 200
    _round(monitor)
    _round(monitor)
    scene.target_topic(topic, 25)
    done = _round(monitor)
    _round(monitor)

    assert done.alerts == []
    assert hook.brief() == [("warning", "firing"), ("critical", "firing"), ("critical", "resolved")]
    assert [item["labels"] for item in hook.received] == [
        {"topic": topic, "lag": 15, "threshold": 10},
        {"topic": topic, "lag": 25, "threshold": 10},
        {"topic": topic, "lag": 0, "threshold": 10},
    ]
    assert {(item["source"], item["target"]) for item in hook.received} == {(scene.alias, "there")}


def test_what_lasts_is_repeated(scene: Scene, hook: Hook, client: httpx.Client) -> None:
    scene.source_topic("orders", 11)
    monitor = _monitor(scene, Receivers(webhook=Endpoint("webhook", hook.url, client)), repeat_minutes=0)
    _round(monitor)
    _round(monitor)
    assert hook.brief() == [("warning", "firing")] * 2


def test_an_alertmanager_takes_what_fires_and_its_end(scene: Scene, alertmanager: str, client: httpx.Client) -> None:
    topic = scene.source_topic("orders", 15)
    monitor = _monitor(scene, Receivers(alertmanager=Endpoint("Alertmanager", alertmanager, client)))

    done = _round(monitor)

    assert [item.failure for item in done.deliveries] == [""]
    (warning,) = _active(alertmanager, client, topic)
    assert warning["labels"] == {
        "alertname": "MirrorMakerReplicationLag", "severity": "warning", "source": scene.alias, "target": "there",
        "topic": topic,
    }  # fmt: skip
    assert datetime.fromisoformat(warning["endsAt"]) > datetime.fromisoformat(warning["startsAt"])
    assert warning["annotations"]["lag"] == "15"

    scene.send(topic, 0, 10)
    _round(monitor)
    assert [item["labels"]["severity"] for item in _active(alertmanager, client, topic)] == ["critical"]

    scene.target_topic(topic, 25)
    done = _round(monitor)
    assert len(done.deliveries) == 1
    assert _active(alertmanager, client, topic) == []
    assert _round(monitor).deliveries == []


def _active(alertmanager: str, client: httpx.Client, topic: str) -> list[dict[str, Any]]:
    alerts = client.get(f"{alertmanager}/api/v2/alerts", params={"filter": f'topic="{topic}"'}).json()
    return list(alerts)


def test_a_round_that_is_told_to_stop_does_not_wait_for_slow_clusters(scene: Scene) -> None:
    stopping = threading.Event()
    stopping.set()
    assert _monitor(scene, Receivers()).round(stopping) is None
