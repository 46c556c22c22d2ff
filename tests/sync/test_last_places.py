"""Where groups go on after a failover: by their last checkpoints and the ledger, without the source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Change, Committed, Groups
from heliograph.model import TopicPartition
from heliograph.recovery.books import read_books
from heliograph.recovery.group_move import GroupPlace, Outcome, move_groups
from heliograph.recovery.last_commits import last_places
from heliograph.sync.checkpoints import Checkpoints
from heliograph.sync.group_offsets import GroupOffsets
from tests.checker.stock_reader import Content, read_committed
from tests.sync.moving import Moving, make_moving, produce
from tests.waiting import wait_until
from tests.zoo.groups import state_of
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_transactions

pytestmark = pytest.mark.kafka


@dataclass(frozen=True)
class Stage:
    """A mirrored topic, and the groups of both clusters."""

    moving: Moving
    orders: TopicPartition
    here: Groups
    there: Groups

    @property
    def mirrored(self) -> TopicPartition:
        """The topic on the target."""
        return TopicPartition(f"{self.moving.name}.{self.orders.topic}", 0)

    def group_at(self, offset: int) -> str:
        """A group that stands there on the source, and was seen to."""
        name = fresh_name(f"{self.moving.name}-group")
        _commit(self.here, name, self.orders, offset)
        with Checkpoints(GroupOffsets(self.moving.flow, self.moving.opposite)) as checkpoints:
            checkpoints.run()
        return name

    def place_of(self, group: str) -> GroupPlace:
        """Where it goes on; nobody asks the source."""
        [place] = [place for place in last_places(read_books(self.moving.flow)) if place.group == group]
        return place

    def offset_there(self, group: str) -> int | None:
        """What it has committed on the target."""
        found = self.there.committed([group])[group]
        return found[self.mirrored].offset if self.mirrored in found else None


@pytest.fixture(scope="module")
def stage(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    topic = fresh_name("abandoned")
    moving = make_moving(tmp_path_factory.mktemp("abandoned"), cluster_pair, topic)
    orders = TopicPartition(create_topic(moving.source, topic), 0)
    # Markers and aborted records lie between the others on the source, so that offsets differ on the target.
    write_transactions(moving.source, orders, count=9, size=4)
    produce(moving.source, orders, range(10))
    moving.mirror()
    source, target = access_for(moving.flow.source, "admin"), access_for(moving.flow.target, "admin")
    with Groups(source) as here, Groups(target) as there:
        yield Stage(moving, orders, here, there)


def test_a_group_goes_on_where_its_last_checkpoint_was(stage: Stage) -> None:
    *_, first = (item.offset for item in list(read_committed(stage.moving.source, stage.orders))[:-12])
    group = stage.group_at(first + 1)
    place = stage.place_of(group)
    assert (place.source, place.source_offset, place.target) == (stage.orders, first + 1, stage.mirrored)
    assert place.is_exact
    [moved] = move_groups([place], access_for(stage.moving.flow.target, "admin"), may_set_back=False)
    assert moved.outcome is Outcome.SET
    assert stage.offset_there(group) == place.target_offset
    rest = _rest(stage.moving.source, stage.orders, first + 1)
    assert len(rest) == 12
    assert _rest(stage.moving.target, stage.mirrored, place.target_offset) == rest


def test_a_group_with_members_on_the_target_is_left_alone(stage: Stage) -> None:
    group = stage.group_at(2)
    consumer = KafkaConsumer(
        stage.mirrored.topic, bootstrap_servers=stage.moving.target, group_id=group, enable_auto_commit=False
    )
    with closing(consumer):
        wait_until(lambda: not consumer.poll(50) and state_of(stage.there, group) == "Stable", "a stable group")
        place = stage.place_of(group)
        [tried] = move_groups([place], access_for(stage.moving.flow.target, "admin"), may_set_back=True, only_try=True)
        [moved] = move_groups([place], access_for(stage.moving.flow.target, "admin"), may_set_back=True)
    assert (tried.outcome, moved.outcome) == (Outcome.HAS_MEMBERS, Outcome.HAS_MEMBERS)
    assert not moved.is_in_place
    assert stage.offset_there(group) is None


def test_a_group_that_is_further_on_is_set_back_only_on_request(stage: Stage) -> None:
    group = stage.group_at(2)
    target = access_for(stage.moving.flow.target, "admin")
    place = stage.place_of(group)
    _commit(stage.there, group, stage.mirrored, place.target_offset + 3)
    [left] = move_groups([place], target, may_set_back=False)
    assert (left.outcome, left.reason) == (Outcome.AHEAD, f"stands at {place.target_offset + 3}")
    assert stage.offset_there(group) == place.target_offset + 3
    [moved] = move_groups([place], target, may_set_back=True)
    assert moved.outcome is Outcome.SET
    assert stage.offset_there(group) == place.target_offset
    [again] = move_groups([place], target, may_set_back=True)
    assert again.outcome is Outcome.IN_PLACE


def _commit(groups: Groups, name: str, where: TopicPartition, offset: int) -> None:
    assert groups.commit({name: {where: Committed(offset)}})[name][where].change is Change.DONE


def _rest(servers: str, where: TopicPartition, offset: int) -> list[Content]:
    """What a stock consumer reads from an offset on."""
    return [item.content for item in read_committed(servers, where) if item.offset >= offset]
