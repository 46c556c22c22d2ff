"""What a failover reads of the positions: little, also where records may have gone anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.control.position_summaries import PositionSummaries
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import reading
from heliograph.recovery.books import read_books
from tests.monitor.scene import Scene, make_scene

pytestmark = pytest.mark.kafka

TRANSFORM = "transforms=mark\ntransforms.mark.type=org.apache.kafka.connect.transforms.InsertHeader\n"
MARK = "transforms.mark.header=h\ntransforms.mark.value.literal=v\n"
SMALL = "offset.storage.partitions=5\noffset.storage.replication.factor=1\nledger.topic.replication.factor=1\n"


@pytest.fixture
def scene(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> Scene:
    return make_scene(tmp_path, primary, backup, SMALL + TRANSFORM + MARK)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many offsets were read of each topic."""
    covered: dict[str, int] = {}
    read_batches = reading.read_batches

    def note(loop: Any, network: Any, topic: str, starts: Any, ends: Any, *others: Any, **named: Any) -> Any:
        covered[topic] = covered.get(topic, 0) + sum(ends[number] - starts[number] for number in starts)
        return read_batches(loop, network, topic, starts, ends, *others, **named)

    monkeypatch.setattr(reading, "read_batches", note)
    return covered


def test_of_a_flow_with_transforms_only_what_came_after_the_summaries_is_read(
    scene: Scene, spans: dict[str, int]
) -> None:
    flow, topic = scene.flow, scene.source_topic("flowing", 1, 1)
    assert flow.changes_records
    driver = FlowDriver(flow_settings(flow), ClusterTopics(flow))
    driver.take_over()
    for number in range(20):
        scene.done(topic, {0: number, 1: number})
    PositionSummaries(driver, least=20).summarize()
    scene.done(topic, {1: 100})
    spans.clear()
    found = read_books(flow).positions
    assert {where.partition: position.offset for where, position in found.items()} == {0: 19, 1: 100}
    assert spans[driver.settings.topics.offsets] == 1
