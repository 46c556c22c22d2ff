"""Offset syncs: where they are written, and that a failure loses none."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from heliograph.config.flow import FlowConfig
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import LedgerEntry, PartitionProgress, Run, TopicPartition
from heliograph.sync.offset_sync_writer import OffsetSyncWriter
from tests.chaos.stage import admin_of
from tests.checker.stock_reader import read_committed
from tests.sync.moving import make_moving
from tests.waiting import wait_until
from tests.zoo.topics import create_topic

pytestmark = pytest.mark.kafka

Pair = tuple[EmbeddedCluster, EmbeddedCluster]
FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


def make_flow(folder: Path, pair: Pair, settings: str = "") -> FlowConfig:
    """A flow between aliases of its own."""
    return make_moving(folder, pair, "orders", settings).flow


def entry(source: TopicPartition, *runs: Run) -> LedgerEntry:
    """A transaction with these runs of one partition."""
    target = TopicPartition(f"a.{source.topic}", source.partition)
    progress = PartitionProgress(source, target, runs, runs[-1].source + runs[-1].length - 1, 1, 1)
    return LedgerEntry("a->b", 0, "me", 1, 1, [progress])


def syncs(cluster: EmbeddedCluster, topic: str) -> list[OffsetSync]:
    """All that was written."""
    return [
        OffsetSync.decode(item.content.key, item.content.value)
        for item in read_committed(cluster.bootstrap_servers, TopicPartition(topic, 0))
    ]


def topics(cluster: EmbeddedCluster) -> set[str]:
    """All topics."""
    with admin_of(cluster) as admin:
        return set(admin.topics())


def test_the_topic_lies_where_the_file_says_and_carries_the_name_of_the_other_cluster(
    cluster_pair: Pair, tmp_path: Path
) -> None:
    source, target = cluster_pair
    for location, cluster, other in (("source", source, target), ("target", target, source), ("", target, source)):
        flow = make_flow(tmp_path, cluster_pair, f"offset-syncs.topic.location={location}\n" if location else "")
        alias = flow.target.alias if location == "source" else flow.source.alias
        name = f"mm2-offset-syncs.{alias}.internal"
        before = topics(other)
        with OffsetSyncWriter(flow) as writer:
            assert writer.run() == ""  # the topic is there before there is anything to write
            with admin_of(cluster) as admin:
                assert admin.topics([name])[name].partitions == 1
                assert admin.topic_settings([name])[name]["cleanup.policy"].value == "compact"
            writer.mirrored(entry(FIRST, Run(5, 7, 3)))
            assert writer.run() == "1 written"
        assert syncs(cluster, name)[-1] == OffsetSync(FIRST, 7, 9)
        assert topics(other) == before


def test_the_newest_sync_of_each_partition_is_written_once(cluster_pair: Pair, tmp_path: Path) -> None:
    flow = make_flow(tmp_path, cluster_pair)
    with OffsetSyncWriter(flow) as writer:
        writer.mirrored(entry(FIRST, Run(0, 0, 10)))
        writer.mirrored(entry(SECOND, Run(3, 0, 1)))
        writer.mirrored(entry(FIRST, Run(10, 11, 5)))
        assert writer.run() == "2 written"
        assert writer.run() == ""
        writer.mirrored(entry(FIRST, Run(15, 17, 1)))
        writer.run()
    assert syncs(cluster_pair[1], f"mm2-offset-syncs.{flow.source.alias}.internal") == [
        OffsetSync(FIRST, 14, 15),
        OffsetSync(SECOND, 3, 0),
        OffsetSync(FIRST, 15, 17),
    ]


def test_what_could_not_be_written_is_kept_unless_there_is_something_newer(cluster_pair: Pair, tmp_path: Path) -> None:
    flow = make_flow(tmp_path, cluster_pair)
    name = f"mm2-offset-syncs.{flow.source.alias}.internal"
    # From the start on: a change of the setting gets to the broker's log a little later than it is confirmed.
    create_topic(cluster_pair[1].bootstrap_servers, name, settings={"max.message.bytes": "10"})
    with OffsetSyncWriter(flow) as writer:
        writer.mirrored(entry(FIRST, Run(0, 0, 10)))
        writer.mirrored(entry(SECOND, Run(0, 0, 1)))
        with pytest.raises(BrokerRefused):
            writer.run()
        writer.mirrored(entry(FIRST, Run(10, 11, 1)))
        with admin_of(cluster_pair[1]) as admin:
            admin.alter_topic_settings({name: {"max.message.bytes": None}})
        assert run_until_taken(writer) == "2 written"
        assert writer.run() == ""
    assert set(syncs(cluster_pair[1], name)) == {OffsetSync(FIRST, 10, 11), OffsetSync(SECOND, 0, 0)}
    assert len(syncs(cluster_pair[1], name)) == 2


def run_until_taken(writer: OffsetSyncWriter) -> str:
    """What the first run says that the broker does not refuse."""
    taken: list[str] = []

    def is_taken() -> bool:
        with suppress(BrokerRefused):
            taken.append(writer.run())
        return bool(taken)

    wait_until(is_taken, "the broker to take records again")
    return taken[0]
