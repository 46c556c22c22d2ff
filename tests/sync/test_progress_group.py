"""The mirror's progress as Kafka's own tool shows it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.jvm import Jvm
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Committed, Groups
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.progress_group import ProgressGroup, progress_group_id
from tests.sync.conftest import FlowMaker
from tests.sync.moving import Moving, make_moving, produce
from tests.zoo.topics import create_topic, fresh_name

_TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def moving(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> Moving:
    """A flow whose progress has a group, among those that it follows by name."""
    settings = "progress.group.enabled=true\nprogress.group.id=mirror-progress\ngroups=.*\n"
    made = make_moving(tmp_path, cluster_pair, "progress-.*", settings)
    with Groups(access_for(made.flow.source, "admin")) as groups:
        groups.delete(["mirror-progress"])
    return made


def committed(moving: Moving) -> dict[TopicPartition, Committed]:
    """What the group has committed."""
    with Groups(access_for(moving.flow.source, "admin")) as groups:
        return groups.committed(["mirror-progress"])["mirror-progress"]


def described(moving: Moving, folder: Path) -> dict[TopicPartition, tuple[int, int, int]]:
    """Current offset, end and lag of each partition, as `kafka-consumer-groups --describe` prints them."""
    command = Jvm.prepare().command(
        folder, _TOOL, "--bootstrap-server", moving.source, "--describe", "--group", "mirror-progress", heap="128m"
    )
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    rows = [line.split() for line in ended.stdout.splitlines() if line.startswith("mirror-progress")]
    return {TopicPartition(row[1], int(row[2])): (int(row[3]), int(row[4]), int(row[5])) for row in rows}


@pytest.mark.kafka
def test_kafkas_own_tool_shows_how_far_behind_the_mirror_is(moving: Moving, tmp_path: Path) -> None:
    topic = create_topic(moving.source, fresh_name("progress"), 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    produce(moving.source, first, range(10))
    produce(moving.source, second, range(3))
    moving.mirror()
    assert ProgressGroup(moving.flow, lambda: {first: 9, second: 2}).run() == "2 partitions"
    produce(moving.source, first, range(5))
    assert described(moving, tmp_path) == {first: (10, 15, 5), second: (3, 3, 0)}


@pytest.mark.kafka
def test_what_others_have_committed_meanwhile_stays_until_there_is_progress(moving: Moving) -> None:
    topic = create_topic(moving.source, fresh_name("progress"), 2)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    mirrored = {first: 4, second: 4}
    progress = ProgressGroup(moving.flow, lambda: mirrored)
    progress.run()
    with Groups(access_for(moving.flow.source, "admin")) as groups:
        groups.commit({"mirror-progress": {first: Committed(1), second: Committed(1)}})
    mirrored[first] = 5
    progress.run()
    assert {where: item.offset for where, item in committed(moving).items()} == {first: 6, second: 1}


@pytest.mark.kafka
def test_before_anything_is_mirrored_nothing_is_committed(moving: Moving) -> None:
    assert ProgressGroup(moving.flow, dict).run() == "0 partitions"
    assert committed(moving) == {}


@pytest.mark.kafka
def test_a_partition_that_is_refused_is_named_and_the_others_are_committed(moving: Moving) -> None:
    where = TopicPartition(create_topic(moving.source, fresh_name("progress")), 0)
    gone = TopicPartition("progress-of-a-topic-that-is-gone", 0)
    progress = ProgressGroup(moving.flow, lambda: {where: 4, gone: 4})
    with pytest.raises(ClusterError, match=rf"mirror-progress: {gone}: .*1 of 2 refused"):
        progress.run()
    assert committed(moving) == {where: Committed(5)}


@pytest.mark.kafka
def test_the_group_is_none_of_those_that_consumers_move_with(moving: Moving) -> None:
    where = TopicPartition(create_topic(moving.source, fresh_name("progress")), 0)
    ProgressGroup(moving.flow, lambda: {where: 4}).run()
    with Groups(access_for(moving.flow.source, "admin")) as groups:
        groups.commit({f"reader-of-{where.topic}": {where: Committed(1)}})
    followed = GroupOffsets(moving.flow).read().committed
    assert f"reader-of-{where.topic}" in followed
    assert "mirror-progress" not in followed


def test_without_the_setting_there_is_no_such_group(make_flow: FlowMaker) -> None:
    assert progress_group_id(make_flow("progress.group.id=mirror-progress\n")) == ""
    assert progress_group_id(make_flow("progress.group.enabled=true\n")) == "mm2-MirrorSourceConnector"
