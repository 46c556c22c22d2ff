"""Group sync: what it decides, and consumers that really move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Committed, GroupInfo, Groups, GroupType
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.groups import GroupSync, GroupSyncResult, SkipReason, plan_commits
from tests.sync.moving import Moving, consume, make_moving, produce
from tests.waiting import wait_until
from tests.zoo.groups import state_of
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import write_transactions

FIRST, SECOND = TopicPartition("a.orders", 0), TopicPartition("a.orders", 1)


def info(name: str, state: str) -> dict[str, GroupInfo]:
    return {name: GroupInfo(name, GroupType.CLASSIC, state)}


# -- what is decided ---------------------------------------------------------------------------------------


def test_a_group_that_the_target_lacks_gets_all_its_offsets() -> None:
    wanted = {"billing": {FIRST: Committed(5, "note"), SECOND: Committed(0)}}
    assert plan_commits(wanted, {}, {}).commits == wanted


def test_a_group_of_the_target_moves_forward_and_never_back() -> None:
    wanted = {"billing": {FIRST: Committed(5), SECOND: Committed(5)}}
    plan = plan_commits(wanted, info("billing", "Empty"), {"billing": {FIRST: Committed(4), SECOND: Committed(6)}})
    assert plan.commits == {"billing": {FIRST: Committed(5)}}
    assert plan.skipped == {SkipReason.NOT_BEHIND: 1}


def test_an_offset_that_is_there_already_is_not_written_again() -> None:
    plan = plan_commits({"billing": {FIRST: Committed(5)}}, {}, {"billing": {FIRST: Committed(5)}})
    assert plan.commits == {}


@pytest.mark.parametrize("state", ["Stable", "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"])
def test_a_group_with_members_is_left_alone(state: str) -> None:
    wanted = {"billing": {FIRST: Committed(5)}, "other": {FIRST: Committed(5)}}
    plan = plan_commits(wanted, info("billing", state), {})
    assert plan.commits == {"other": {FIRST: Committed(5)}}
    assert plan.busy == ("billing",)
    assert plan.skipped == {SkipReason.HAS_MEMBERS: 1}


# -- real clusters -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moving(cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory) -> Moving:
    return make_moving(tmp_path_factory.mktemp("moving"), cluster_pair, "moving-.*", both_ways=True)


@pytest.fixture
def orders(moving: Moving) -> TopicPartition:
    """A topic of two partitions on the source, the second of them empty."""
    return TopicPartition(create_topic(moving.source, fresh_name("moving"), 2), 0)


@pytest.fixture
def on_target(moving: Moving) -> Iterator[Groups]:
    with Groups(access_for(moving.flow.target, "admin")) as groups:
        yield groups


def sync(moving: Moving) -> GroupSyncResult:
    return GroupSync(GroupOffsets(moving.flow, moving.opposite)).run()


def mirrored(moving: Moving, where: TopicPartition) -> TopicPartition:
    return TopicPartition(f"{moving.name}.{where.topic}", where.partition)


@pytest.mark.kafka
@pytest.mark.parametrize("consumed", [0, 1, 137, 200, 399, 400])
def test_a_consumer_that_moves_misses_and_repeats_nothing(
    moving: Moving, orders: TopicPartition, on_target: Groups, consumed: int
) -> None:
    assert write_transactions(moving.source, orders, count=30, size=20) == 400
    group = f"{moving.name}-{orders.topic}"
    before = consume(moving.source, group, orders, consumed)
    moving.mirror()
    result = sync(moving)
    assert set(result.written[group]) == {mirrored(moving, orders)}
    assert on_target.committed([group])[group][mirrored(moving, orders)].metadata == f"read {consumed}"
    after = consume(moving.target, group, mirrored(moving, orders))
    assert len(before) + len(after) == 400
    assert before + after == consume(moving.source, "fresh", orders)


@pytest.mark.kafka
def test_a_group_at_rest_goes_on_with_the_next_record_and_an_empty_partition_has_its_offset_too(
    moving: Moving, orders: TopicPartition, on_target: Groups
) -> None:
    empty = TopicPartition(orders.topic, 1)
    group = f"{moving.name}-{orders.topic}"
    produce(moving.source, orders, range(10))
    consume(moving.source, group, orders)
    assert consume(moving.source, group, empty) == []
    moving.mirror()
    result = sync(moving)
    assert result.written[group][mirrored(moving, empty)] == Committed(0, "read 0")
    assert result.inexact == 0
    produce(moving.source, orders, range(10, 13))
    moving.mirror()
    assert consume(moving.target, group, mirrored(moving, orders)) == [b"10", b"11", b"12"]


@pytest.mark.kafka
def test_a_second_round_writes_only_what_has_moved_and_nothing_backward(moving: Moving, orders: TopicPartition) -> None:
    group = f"{moving.name}-{orders.topic}"
    produce(moving.source, orders, range(20))
    consume(moving.source, group, orders, 5)
    moving.mirror()
    where = mirrored(moving, orders)
    assert sync(moving).written[group][where].offset == 5
    again = sync(moving)
    assert group not in again.written
    assert again.skipped[SkipReason.NOT_BEHIND] >= 1
    consume(moving.source, group, orders, 3)
    assert sync(moving).written[group][where].offset == 8
    with Groups(access_for(moving.flow.source, "admin")) as groups:
        groups.commit({group: {orders: Committed(2)}})
    assert group not in sync(moving).written


@pytest.mark.kafka
def test_a_group_with_members_on_the_target_keeps_its_own_offsets(
    moving: Moving, orders: TopicPartition, on_target: Groups
) -> None:
    group = f"{moving.name}-{orders.topic}"
    produce(moving.source, orders, range(20))
    consume(moving.source, group, orders, 5)
    moving.mirror()
    topic = mirrored(moving, orders).topic
    settings = {"bootstrap_servers": moving.target, "group_id": group, "enable_auto_commit": False}
    with closing(KafkaConsumer(topic, **settings)) as member:
        wait_until(lambda: not member.poll(50) and state_of(on_target, group) == "Stable", "a stable group")
        result = sync(moving)
    assert group in result.busy
    assert group not in result.written
    assert on_target.committed([group])[group] == {}


@pytest.mark.kafka
def test_a_partition_that_the_target_does_not_have_is_skipped(moving: Moving, orders: TopicPartition) -> None:
    group = f"{moving.name}-{orders.topic}"
    produce(moving.source, orders, range(3))
    consume(moving.source, group, orders)
    result = sync(moving)
    assert group not in result.written
    assert result.skipped[SkipReason.NO_TARGET] >= 1


@pytest.mark.kafka
def test_topics_and_groups_that_are_not_mirrored_are_left_out(moving: Moving, orders: TopicPartition) -> None:
    other = TopicPartition(create_topic(moving.source, fresh_name("unmoved")), 0)
    group = f"{moving.name}-{orders.topic}"
    produce(moving.source, other, range(3))
    produce(moving.source, orders, range(3))
    consume(moving.source, group, other)
    consume(moving.source, "not-chosen", orders)
    moving.mirror()
    result = sync(moving)
    assert group not in result.written
    assert "not-chosen" not in result.written
    assert result.skipped[SkipReason.NOT_MIRRORED] >= 1


@pytest.mark.kafka
def test_what_came_from_the_target_is_translated_back_home(moving: Moving) -> None:
    home = TopicPartition(create_topic(moving.target, fresh_name("moving")), 0)
    visiting = TopicPartition(f"shelter.{home.topic}", 0)
    write_transactions(moving.target, home, count=6, size=10)
    moving.mirror(moving.opposite)
    group = f"{moving.name}-{home.topic}"
    before = consume(moving.source, group, visiting, 25)
    assert set(sync(moving).written[group]) == {home}
    assert before + consume(moving.target, group, home) == consume(moving.target, "fresh", home)


@pytest.mark.kafka
def test_where_both_flows_keep_the_names_nothing_is_missed(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> None:
    topic = fresh_name("same")
    policy = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    moving = make_moving(tmp_path_factory.mktemp("same"), cluster_pair, topic, policy, both_ways=True)
    where = TopicPartition(create_topic(moving.source, topic), 0)
    create_topic(moving.target, topic)
    for number in range(4):
        produce(moving.source, where, range(number * 100, number * 100 + 5))
        produce(moving.target, where, range(number * 100 + 50, number * 100 + 55))
        moving.mirror()
        moving.mirror(moving.opposite)
    everything = consume(moving.source, "fresh", where)
    assert len(everything) == len(set(everything)) == 40
    for consumed in (0, 7, 12, 26, 40):
        group = f"{moving.name}-{consumed}"
        before = consume(moving.source, group, where, consumed)
        sync(moving)
        assert {*before, *consume(moving.target, group, where)} == set(everything)
