"""Which topics conflicts are looked for in, and which ones come of it."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from heliograph.config.mirror_config import load
from heliograph.kafka.topics import TopicInfo
from heliograph.sync.watched_topics import WatchedTopics

_FILE = """\
clusters = us, eu, ap
us.bootstrap.servers = us:9092
eu.bootstrap.servers = eu:9092
ap.bootstrap.servers = ap:9092
us->eu.enabled = true
ap->us.enabled = true
eu.conflicts.topics = orders.*
eu.conflicts.output = {topic}.resolved
conflicts.topic.replication.factor = 2
"""
_SIZES = {"orders": 2, "us.orders": 6, "us.orders2": 1, "payments": 9}


@pytest.fixture
def watched(tmp_path: Path) -> WatchedTopics:
    path = tmp_path / "mm2.properties"
    path.write_text(_FILE)
    (config,) = load(path).conflicts
    return WatchedTopics(config)


def _info(name: str, partitions: int = 1) -> TopicInfo:
    return TopicInfo(name, UUID(int=1), partitions, 1)


def test_what_was_written_here_and_what_was_mirrored_here_over_any_number_of_clusters(watched: WatchedTopics) -> None:
    assert watched.has("orders")
    assert watched.has("us.orders")
    assert watched.has("us.ap.orders")
    assert not watched.has("payments")
    assert not watched.has("team.orders")  # a local topic: team is no cluster
    assert watched.logical_topic("us.ap.orders") == "orders"
    assert watched.origin("us.ap.orders") == "ap"
    assert watched.origin("orders") == "eu"


def test_never_what_detection_writes_itself(watched: WatchedTopics) -> None:
    assert not watched.has("orders.resolved")
    assert not watched.has("conflict-resolutions")
    assert not watched.has("mm2-conflicts.eu.internal")


def test_what_is_missing_is_created_with_as_many_partitions_as_the_largest_topic(watched: WatchedTopics) -> None:
    infos = {name: _info(name, count) for name, count in _SIZES.items()}
    missing = {topic.name: topic for topic in watched.missing(infos)}
    assert {name: topic.partitions for name, topic in missing.items()} == {
        "conflict-resolutions": 1,
        "mm2-conflicts.eu.internal": 1,
        "orders.resolved": 6,
        "orders2.resolved": 1,
    }
    assert {topic.replication_factor for topic in missing.values()} == {2}
    assert missing["orders.resolved"].settings["cleanup.policy"] == "compact"
    assert watched.missing({**infos, **{name: _info(name) for name in missing}}) == []
