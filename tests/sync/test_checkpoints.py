"""Checkpoints: which are worth writing, and what is in the topic after a while."""

from __future__ import annotations

import re

import pytest

from heliograph.client import MirrorClient
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.sync.checkpoints import Checkpoints, newer_checkpoints
from heliograph.sync.group_offsets import GroupOffsets, GroupPlaces
from heliograph.sync.translation import Translation
from tests.sync.moving import Moving, make_moving, produce
from tests.zoo import raw
from tests.zoo.topics import create_topic, fresh_name

SOURCE, TARGET = TopicPartition("orders", 0), TopicPartition("a.orders", 0)
WRITTEN = Checkpoint("billing", TARGET, 10, 20)
_STRANGER = b"?"


def found(upstream: int, downstream: int, is_known: bool = True) -> GroupPlaces:
    """One group that has committed an offset, and its place."""
    place = Translation(TARGET, downstream, is_exact=True, is_known=is_known)
    return GroupPlaces({"billing": {SOURCE: Committed(upstream, "note")}}, {(SOURCE, upstream): place})


# -- what is decided ---------------------------------------------------------------------------------------


def test_the_first_checkpoint_carries_all_that_is_known() -> None:
    assert newer_checkpoints(found(10, 20), {}) == [Checkpoint("billing", TARGET, 10, 20, "note")]


@pytest.mark.parametrize(
    ("upstream", "downstream", "is_newer"),
    [
        pytest.param(10, 20, False, id="the same"),
        pytest.param(11, 21, True, id="further"),
        pytest.param(11, 20, False, id="further only on the source"),
        pytest.param(10, 21, True, id="further only on the target"),
        pytest.param(9, 19, True, id="set back"),
        pytest.param(9, 20, True, id="set back only on the source"),
        pytest.param(10, 19, False, id="less is known of the target"),
        pytest.param(11, 19, False, id="further, but less is known of the target"),
    ],
)
def test_newer_is_what_is_further_on_the_target_or_set_back_on_the_source(
    upstream: int, downstream: int, is_newer: bool
) -> None:
    assert bool(newer_checkpoints(found(upstream, downstream), {("billing", TARGET): WRITTEN})) is is_newer


def test_groups_and_partitions_are_told_apart() -> None:
    others = {
        ("billing", TopicPartition("a.orders", 1)): WRITTEN,
        ("shipping", TARGET): WRITTEN,
    }
    assert len(newer_checkpoints(found(10, 20), others)) == 1


def test_a_partition_of_which_nothing_is_mirrored_gets_none() -> None:
    assert newer_checkpoints(found(0, 0, is_known=False), {}) == []


# -- real clusters -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moving(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory) -> Moving:
    return make_moving(tmp_path_factory.mktemp("checkpoints"), cluster_pair, "checked-.*")


class Scene:
    """A topic of two partitions, the second of them empty, and a group that reads it."""

    def __init__(self, moving: Moving) -> None:
        self._moving = moving
        self.source = TopicPartition(create_topic(moving.source, fresh_name("checked"), 2), 0)
        self.target = TopicPartition(f"{moving.name}.{self.source.topic}", 0)
        self.group = f"{moving.name}-{self.source.topic}"

    def write(self, first: int, count: int) -> None:
        """Records, and their copies."""
        produce(self._moving.source, self.source, range(first, first + count))
        self._moving.mirror(takes_over=first == 0)

    def commit(self, offset: int) -> None:
        """The group has read so far, and nothing of the empty partition."""
        empty = TopicPartition(self.source.topic, 1)
        with Groups(access_for(self._moving.flow.source, "admin")) as groups:
            groups.commit({self.group: {self.source: Committed(offset, f"at {offset}"), empty: Committed(0)}})

    def checkpoints(self) -> Checkpoints:
        """A writer that has just started."""
        return Checkpoints(GroupOffsets(self._moving.flow))

    def written(self) -> list[tuple[int, int, str]]:
        """What was written for the group, in order: offsets on source and target, and metadata."""
        topic = f"{self._moving.name}.checkpoints.internal"
        with raw.network(self._moving.target, topic) as (loop, network):
            records = [record for _, record in reading.read_to_end(loop, network, topic, {0: 0}) if record.value]
        found = [Checkpoint.decode(record.key, record.value) for record in records if record.key != _STRANGER]
        return [
            (item.upstream_offset, item.downstream_offset, item.metadata)
            for item in found
            if item.group == self.group and item.target == self.target
        ]


@pytest.fixture
def scene(moving: Moving) -> Scene:
    return Scene(moving)


@pytest.mark.kafka
def test_a_client_finds_where_the_group_goes_on_and_nothing_for_an_untouched_partition(
    moving: Moving, scene: Scene
) -> None:
    scene.write(0, 10)
    scene.commit(4)
    with scene.checkpoints() as checkpoints:
        assert re.fullmatch(r"\d+ groups, 1 written", checkpoints.run())
    with MirrorClient({"bootstrap.servers": moving.target}) as client:
        offsets = client.remote_consumer_offsets(scene.group, moving.name)
    assert {where: (item.offset, item.metadata) for where, item in offsets.items()} == {scene.target: (4, "at 4")}


@pytest.mark.kafka
def test_a_group_that_moves_on_and_is_set_back_is_followed_and_one_that_rests_is_not_written_again(
    scene: Scene,
) -> None:
    scene.write(0, 10)
    with scene.checkpoints() as checkpoints:
        for offset in (4, 4, 9, 2, 2):
            scene.commit(offset)
            checkpoints.run()
    assert scene.written() == [(4, 4, "at 4"), (9, 9, "at 9"), (2, 2, "at 2")]


@pytest.mark.kafka
def test_a_new_start_knows_what_was_written_before(scene: Scene) -> None:
    scene.write(0, 10)
    scene.commit(4)
    for _ in range(2):
        with scene.checkpoints() as checkpoints:
            checkpoints.run()
    assert scene.written() == [(4, 4, "at 4")]
    scene.commit(3)
    with scene.checkpoints() as checkpoints:
        checkpoints.run()
    assert scene.written() == [(4, 4, "at 4"), (3, 3, "at 3")]


@pytest.mark.kafka
def test_records_that_are_no_checkpoints_do_no_harm_and_deleted_ones_are_written_anew(
    moving: Moving, scene: Scene
) -> None:
    scene.write(0, 10)
    scene.commit(4)
    with scene.checkpoints() as checkpoints:
        checkpoints.run()
    key = Checkpoint(scene.group, scene.target, 0, 0).encode_key()
    strangers = [Record(0, 1, _STRANGER, b"?"), Record(1, 1, _STRANGER, None), Record(2, 1, key, None)]
    where = TopicPartition(f"{moving.name}.checkpoints.internal", 0)
    raw.append(moving.target, where, [raw.batch_of(strangers)])
    with scene.checkpoints() as checkpoints:
        assert checkpoints.run().endswith(" 1 written")


@pytest.mark.kafka
def test_the_topic_is_compacted_and_has_one_partition(moving: Moving, scene: Scene) -> None:
    with scene.checkpoints() as checkpoints:
        checkpoints.run()
    name = f"{moving.name}.checkpoints.internal"
    with Admin(access_for(moving.flow.target, "admin")) as admin:
        assert admin.topics([name])[name].partitions == 1
        assert admin.topic_settings([name])[name]["cleanup.policy"].value == "compact"
