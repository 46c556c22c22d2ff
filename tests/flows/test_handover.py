"""MirrorMaker 2 stops, Heliograph goes on, and the other way round: nothing lost, nothing repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.mirrormaker import MirrorMaker2
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import LedgerEntry, Position, TopicPartition
from tests.chaos.stage import Stage, ends

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.oracle]

_TOPIC = "handover"
_OPTIONS = {
    "groups": "none",
    "heartbeats.replication.enabled": "false",
    "offset.storage.partitions": "2",
    "status.storage.partitions": "1",
    "offset-syncs.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "new.offset.flush.interval.ms": "1000",
}


@pytest.fixture
def stage(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> Stage:
    """Aliases of its own, so that positions and ledger are this test's alone."""
    return Stage(cluster_pair, tmp_path, _TOPIC, ("old", "new"), _OPTIONS)


def test_from_mirrormaker_and_back_under_load(stage: Stage, tmp_path: Path) -> None:
    oracle = MirrorMaker2(stage.settings, tmp_path / "mirrormaker")
    with stage.load() as load:
        with oracle:
            stage.await_progress()
        handed_over = _positions(stage.target)
        assert sum(position.offset + 1 for position in handed_over.values()) == _size(stage.target, stage.copy)

        mirror = stage.start()
        try:
            stage.await_progress()
            assert mirror.stop() == 0
        finally:
            mirror.kill()
        first = _first_offsets(stage.target)
        # The load may reach a partition only after MirrorMaker 2 has stopped: such a one begins at its beginning.
        assert first == {where: handed_over[where].offset + 1 if where in handed_over else 0 for where in first}
        assert handed_over.keys() <= first.keys()

        handed_back = _positions(stage.target)
        assert all(handed_back[where].offset > position.offset for where, position in handed_over.items())
        with oracle:
            stage.await_progress()
            load.stop()
            stage.expect_equal(load.acknowledged)
        last = _positions(stage.target)
        assert sum(position.offset + 1 for position in last.values()) == _size(stage.source, stage.topic)


def _size(cluster: EmbeddedCluster, topic: str) -> int:
    return sum(ends(cluster, topic).values())


def _positions(cluster: EmbeddedCluster) -> dict[TopicPartition, Position]:
    known: dict[TopicPartition, Position] = {}
    for record in _records(cluster, "mm2-offsets.old.internal"):
        positions.apply(known, "old", record.key, record.value)
    return known


def _first_offsets(cluster: EmbeddedCluster) -> dict[TopicPartition, int]:
    """The first source offset that Heliograph has ever copied, of each partition."""
    first: dict[TopicPartition, int] = {}
    for record in _records(cluster, "mm2-ledger.old.internal"):
        entry = entries.decode(record.value)
        for progress in entry.partitions if isinstance(entry, LedgerEntry) else ():
            if progress.source.topic == _TOPIC:
                first.setdefault(progress.source, progress.runs[0].source)
    return first


def _records(cluster: EmbeddedCluster, topic: str) -> Iterator[Record]:
    access = Access(cluster.alias, cluster.bootstrap_servers.split(","))
    with opened(access, [topic]) as (loop, network):
        starts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), EARLIEST))
        yield from (record for _, record in reading.read_to_end(loop, network, topic, starts))
