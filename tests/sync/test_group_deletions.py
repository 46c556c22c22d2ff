"""Groups that are deleted on the source: which of them go on the target too, on real brokers.

A deletion is noticed at the next look at the list of groups. So each test deletes a witness with the group in question:
the round that deletes the witness is the one that has judged the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Change, Committed, Groups
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.groups import GroupSync, GroupSyncResult, is_as_put
from tests.sync.moving import Moving, make_moving, produce
from tests.waiting import wait_until
from tests.zoo.groups import state_of
from tests.zoo.topics import create_topic, fresh_name

Pair = tuple[EmbeddedCluster, EmbeddedCluster]
FIRST, SECOND = TopicPartition("a.orders", 0), TopicPartition("a.orders", 1)
OFTEN = "refresh.groups.interval.seconds=1\n"
ON = OFTEN + "sync.group.deletions.enabled=true\n"


# -- what is decided ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({FIRST: Committed(5)}, True),
        ({FIRST: Committed(5, "a note of its own"), SECOND: Committed(7)}, True),
        ({}, False),
        ({FIRST: Committed(6)}, False),
        ({FIRST: Committed(4)}, False),
        ({FIRST: Committed(5), TopicPartition("a.orders", 2): Committed(0)}, False),
        ({FIRST: Committed(5), TopicPartition("local", 0): Committed(5)}, False),
    ],
)
def test_a_group_is_the_mirrors_if_it_has_only_what_was_put_there(
    there: dict[TopicPartition, Committed], expected: bool
) -> None:
    assert is_as_put({FIRST: Committed(5), SECOND: Committed(7)}, there) is expected


# -- real clusters -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A mirrored topic, one that is not, and the groups of both clusters."""

    moving: Moving
    orders: TopicPartition
    unmirrored: TopicPartition
    here: Groups
    there: Groups

    @property
    def mirrored(self) -> TopicPartition:
        """The topic on the target."""
        return TopicPartition(f"{self.moving.name}.{self.orders.topic}", 0)

    def sync(self) -> GroupSync:
        """A mirror that has just started, and knows nothing yet."""
        return GroupSync(GroupOffsets(self.moving.flow, self.moving.opposite))

    def groups(self, *names: str) -> list[str]:
        """Names that the flow follows and no other test uses; each group has read five records."""
        made = [fresh_name(f"{self.moving.name}-{name}") for name in names]
        self.commit(self.here, {name: {self.orders: Committed(5)} for name in made})
        return made

    def commit(self, groups: Groups, offsets: dict[str, dict[TopicPartition, Committed]]) -> None:
        """On behalf of groups without members."""
        results = groups.commit(offsets)
        assert {item.change for items in results.values() for item in items.values()} == {Change.DONE}

    def delete(self, *names: str) -> None:
        """On the source."""
        assert {item.change for item in self.here.delete(names).values()} == {Change.DONE}

    @contextmanager
    def member(self, name: str) -> Iterator[None]:
        """Somebody who consumes as this group on the target, without committing anything."""
        consumer = KafkaConsumer(
            self.mirrored.topic, bootstrap_servers=self.moving.target, group_id=name, enable_auto_commit=False
        )
        with closing(consumer):
            wait_until(lambda: not consumer.poll(50) and state_of(self.there, name) == "Stable", "a stable group")
            yield

    def offsets_there(self, name: str) -> dict[TopicPartition, int]:
        """What a group has on the target."""
        return {where: item.offset for where, item in self.there.committed([name])[name].items()}

    def judged(self, sync: GroupSync, witness: str) -> GroupSyncResult:
        """The round that has deleted the witness."""
        rounds: list[GroupSyncResult] = []

        def is_deleted() -> bool:
            rounds.append(sync.run())
            return witness in rounds[-1].deleted

        wait_until(is_deleted, "the witness to be deleted")
        assert witness not in self.there.list()
        return rounds[-1]


@contextmanager
def open_stage(folder: Path, pair: Pair, settings: str) -> Iterator[Stage]:
    """Two clusters with some records mirrored."""
    topic = fresh_name("vanishing")
    moving = make_moving(folder, pair, topic, settings)
    orders = TopicPartition(create_topic(moving.source, topic), 0)
    unmirrored = TopicPartition(create_topic(moving.source, fresh_name("unmirrored")), 0)
    produce(moving.source, orders, range(20))
    moving.mirror()
    source, target = access_for(moving.flow.source, "admin"), access_for(moving.flow.target, "admin")
    with Groups(source) as here, Groups(target) as there:
        yield Stage(moving, orders, unmirrored, here, there)


@pytest.fixture(scope="module")
def stage(cluster_pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with open_stage(tmp_path_factory.mktemp("deletions"), cluster_pair, ON) as made:
        made.groups("always-there")  # a source without groups may have lost them
        yield made


@pytest.mark.kafka
def test_a_group_that_is_deleted_on_the_source_is_deleted_on_the_target(stage: Stage) -> None:
    gone, stays = stage.groups("gone", "stays")
    sync = stage.sync()
    assert {gone, stays} <= set(sync.run().written)
    stage.delete(gone)
    assert stage.judged(sync, gone).deleted == (gone,)
    assert stage.offsets_there(stays) == {stage.mirrored: 5}
    assert sync.run().deleted == ()


@pytest.mark.kafka
def test_unless_it_was_asked_for_nothing_is_deleted(cluster_pair: Pair, tmp_path: Path) -> None:
    with open_stage(tmp_path, cluster_pair, OFTEN) as stage:
        gone, _ = stage.groups("gone", "stays")
        sync = stage.sync()
        assert sync.run().groups == 2
        stage.delete(gone)
        rounds: list[GroupSyncResult] = []

        def is_noticed() -> bool:
            rounds.append(sync.run())
            return rounds[-1].groups == 1

        wait_until(is_noticed, "the mirror to see one group less")
        rounds.append(sync.run())
        assert {item.deleted for item in rounds} == {()}
        assert stage.offsets_there(gone) == {stage.mirrored: 5}


@pytest.mark.kafka
def test_a_source_that_has_lost_all_its_groups_takes_none_from_the_target(cluster_pair: Pair, tmp_path: Path) -> None:
    with open_stage(tmp_path, cluster_pair, ON) as stage:
        names = stage.groups("one", "other")
        sync = stage.sync()
        sync.run()
        stage.delete(*names)
        wait_until(lambda: sync.run().groups == 0, "the mirror to see no group")
        assert sync.run().deleted == ()
        assert [stage.offsets_there(name) for name in names] == [{stage.mirrored: 5}] * 2
        # Then one of them comes back: the other is still what the target is there for, as far as one can tell.
        stage.commit(stage.here, {names[0]: {stage.orders: Committed(6)}})
        assert stage.judged(sync, names[1]).deleted == (names[1],)


@pytest.mark.kafka
def test_a_group_with_members_on_the_target_is_deleted_only_when_they_have_left(stage: Stage) -> None:
    busy, witness, second_witness = stage.groups("busy", "witness", "witness")
    sync = stage.sync()
    sync.run()
    with stage.member(busy):
        stage.delete(busy, witness)
        assert busy not in stage.judged(sync, witness).deleted
        assert stage.offsets_there(busy) == {stage.mirrored: 5}
    wait_until(lambda: state_of(stage.there, busy) == "Empty", "the member to leave")
    stage.delete(second_witness)
    stage.judged(sync, second_witness)
    assert busy not in stage.there.list()


@pytest.mark.kafka
def test_a_group_that_came_back_while_it_had_members_on_the_target_stays(cluster_pair: Pair, tmp_path: Path) -> None:
    """The list of groups that the mirror goes by does not know yet that it is back."""
    with open_stage(tmp_path, cluster_pair, ON.replace(OFTEN, "refresh.groups.interval.seconds=3600\n")) as stage:
        busy, _ = stage.groups("busy", "always-there")
        offsets = GroupOffsets(stage.moving.flow, stage.moving.opposite)
        sync = GroupSync(offsets)
        assert busy in sync.run().written
        with stage.member(busy):
            stage.delete(busy)
            offsets._names = None  # look at the list once more, and then for long not again
            assert (sync.run().deleted, sync.run().groups) == ((), 1)
            stage.commit(stage.here, {busy: {stage.orders: Committed(5)}})
        wait_until(lambda: state_of(stage.there, busy) == "Empty", "the member to leave")
        last = sync.run()
        assert (last.deleted, last.groups) == ((), 1)
        assert stage.offsets_there(busy) == {stage.mirrored: 5}
        stage.delete(busy)
        assert sync.run().deleted == (busy,)


@pytest.mark.kafka
def test_a_group_that_was_never_mirrored_stays(stage: Stage) -> None:
    """It read another topic on the source; that a group of the target has the same name is chance."""
    [witness] = stage.groups("witness")
    stranger = fresh_name(f"{stage.moving.name}-stranger")
    local = TopicPartition(create_topic(stage.moving.target, fresh_name("local")), 0)
    stage.commit(stage.here, {stranger: {stage.unmirrored: Committed(0)}})
    stage.commit(stage.there, {stranger: {local: Committed(0)}})
    sync = stage.sync()
    assert stranger not in sync.run().written
    stage.delete(stranger, witness)
    assert stage.judged(sync, witness).deleted == (witness,)
    assert stage.offsets_there(stranger) == {local: 0}


@pytest.mark.kafka
def test_a_group_without_any_offset_that_was_put_there_stays(stage: Stage) -> None:
    """It is on the target with offsets of a mirrored topic, but none of them came from the source."""
    [witness] = stage.groups("witness")
    stranger = fresh_name(f"{stage.moving.name}-stranger")
    stage.commit(stage.here, {stranger: {stage.unmirrored: Committed(0)}})
    stage.commit(stage.there, {stranger: {stage.mirrored: Committed(5)}})
    sync = stage.sync()
    sync.run()
    stage.delete(stranger, witness)
    assert stage.judged(sync, witness).deleted == (witness,)
    assert stage.offsets_there(stranger) == {stage.mirrored: 5}


@pytest.mark.kafka
def test_a_group_with_offsets_of_its_own_for_other_topics_stays(stage: Stage) -> None:
    both, witness = stage.groups("both", "witness")
    local = TopicPartition(create_topic(stage.moving.target, fresh_name("local")), 0)
    stage.commit(stage.there, {both: {local: Committed(0)}})
    sync = stage.sync()
    sync.run()
    assert stage.offsets_there(both) == {stage.mirrored: 5, local: 0}
    stage.delete(both, witness)
    assert stage.judged(sync, witness).deleted == (witness,)
    assert stage.offsets_there(both) == {stage.mirrored: 5, local: 0}


@pytest.mark.kafka
def test_a_group_that_went_on_by_itself_on_the_target_stays(stage: Stage) -> None:
    """Its consumers have moved over; that nobody needs it on the source any more is the end of a migration."""
    moved, witness = stage.groups("moved", "witness")
    sync = stage.sync()
    sync.run()
    stage.commit(stage.there, {moved: {stage.mirrored: Committed(9)}})
    stage.delete(moved, witness)
    assert stage.judged(sync, witness).deleted == (witness,)
    assert stage.offsets_there(moved) == {stage.mirrored: 9}


@pytest.mark.kafka
def test_a_group_that_went_back_on_the_source_is_still_the_mirrors(stage: Stage) -> None:
    """The target keeps the later offset, which the mirror had put there."""
    [back] = stage.groups("back")
    sync = stage.sync()
    sync.run()
    stage.commit(stage.here, {back: {stage.orders: Committed(2)}})
    sync.run()
    assert stage.offsets_there(back) == {stage.mirrored: 5}
    stage.delete(back)
    assert back in stage.judged(sync, back).deleted


@pytest.mark.kafka
def test_only_what_the_source_neither_lists_nor_has_commits_of_has_vanished(stage: Stage) -> None:
    there, gone = stage.groups("there", "gone")
    stage.delete(gone)
    offsets = GroupOffsets(stage.moving.flow)
    assert offsets.vanished([there, gone, "never-was"]) == {gone, "never-was"}
    assert offsets.vanished([]) == set()
