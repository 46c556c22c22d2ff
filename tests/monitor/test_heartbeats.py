"""Latency is measured when a heartbeat arrives; a mirror that stops shows as a number that grows."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import MalformedRecord
from heliograph.kafka.access import access_for
from heliograph.kafka.records import Record
from heliograph.monitor.heartbeats import latency_of, read_latency, watch_seconds
from heliograph.monitor.look import Latency, LatencyMethod
from heliograph.monitor.observer import Observer
from tests.monitor.scene import Scene, append, make_scene
from tests.zoo.topics import create_topic


@pytest.mark.parametrize(
    ("times", "seconds"),
    [([5_000], 2.0), ([1_000, 2_000, 3_000], 2.0), ([0, 100, 200, 90_000], 0.65), ([0, 60_000], 4.0)],
)
def test_a_watch_lasts_a_little_longer_than_the_usual_pause(times: list[int], seconds: float) -> None:
    assert watch_seconds(times) == pytest.approx(seconds)


def test_clocks_that_disagree_never_make_a_latency_negative() -> None:
    assert latency_of(1_000, 990, LatencyMethod.ARRIVAL).milliseconds == 0
    assert latency_of(1_000, 1_040, LatencyMethod.ARRIVAL).milliseconds == 40


@pytest.fixture
def scene(tmp_path: Path, primary: EmbeddedCluster, backup: EmbeddedCluster) -> Scene:
    scene = make_scene(tmp_path, primary, backup)
    create_topic(scene.target, scene.heartbeats)
    return scene


def _read(scene: Scene) -> Latency | None:
    return read_latency(access_for(scene.flow.target, "admin"), scene.heartbeats)


@contextmanager
def _beating(scene: Scene, age_ms: int) -> Iterator[list[float]]:
    """Heartbeats of such an age arrive all the time; when each was begun is noted, in milliseconds."""
    is_over = threading.Event()
    begun: list[float] = []

    def beat() -> None:
        while not is_over.wait(0.2):
            begun.append(time.time() * 1000)
            scene.beat(age_ms)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield begun
    finally:
        is_over.set()
        thread.join()


@pytest.mark.kafka
def test_the_latency_is_that_of_a_heartbeat_that_arrives(scene: Scene) -> None:
    scene.beat(3_000, 2_000, 1_000)
    with _beating(scene, 700) as begun:  # how soon the watch begins is not known
        latency = _read(scene)
        now = time.time() * 1000

    assert latency is not None
    assert latency.method is LatencyMethod.ARRIVAL
    assert 700 <= latency.milliseconds <= 700 + now - begun[0] + 1  # a record has whole milliseconds


@pytest.mark.kafka
def test_while_none_arrives_the_age_of_the_newest_grows(scene: Scene) -> None:
    scene.beat(60_200, 60_100, 60_000)

    first, second = _read(scene), _read(scene)

    assert first is not None
    assert second is not None
    assert first.method is second.method is LatencyMethod.AGE
    assert 60_000 < first.milliseconds < second.milliseconds < 90_000


@pytest.mark.kafka
def test_without_heartbeats_nothing_is_claimed(scene: Scene) -> None:
    assert _read(scene) is None
    look = Observer(scene.flow).look()
    assert look.latency is None
    assert look.is_complete
    assert any(scene.heartbeats in note for note in look.notes)


@pytest.mark.kafka
def test_what_is_no_heartbeat_hides_the_latency_but_not_the_lag(scene: Scene) -> None:
    topic = scene.source_topic("orders", 2)
    append(scene.target, scene.heartbeats, 0, [Record(0, 0, b"", b"")])
    with pytest.raises(MalformedRecord):
        _read(scene)

    look = Observer(scene.flow).look()

    assert [item.cluster for item in look.troubles] == ["there"]
    assert [(item.topic, item.lag_records) for item in look.topics] == [(topic, 2)]
