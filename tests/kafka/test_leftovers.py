"""Transactions whose end some partitions never heard of, made on a broker that lets us write without joining."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import leftovers, producing
from heliograph.kafka.leftovers import Sweep, describe, end_leftovers
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.checker.stock_reader import read_committed
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import await_leaders, create_topic, fresh_name

pytestmark = pytest.mark.kafka
TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def trusting() -> Iterator[EmbeddedCluster]:
    settings = {"transaction.partition.verification.enable": "false"}
    with running_clusters(ClusterSpec("trusting", settings=settings)) as [cluster]:
        yield cluster


@pytest.fixture
def topic(trusting: EmbeddedCluster) -> str:
    """Of three partitions: two hear of the end, the third does not."""
    return create_topic(trusting.bootstrap_servers, fresh_name("left"), 3)


@pytest.fixture
def connected(trusting: EmbeddedCluster, topic: str) -> Iterator[raw.Connected]:
    with raw.network(trusting.bootstrap_servers, topic) as opened:
        yield opened


def producer_of(connected: raw.Connected, topic: str) -> TransactionalProducer:
    return TransactionalProducer(connected[1], f"id-{topic}", TIMEOUT_MS)


def write(connected: raw.Connected, producer: TransactionalProducer, where: TopicPartition, joins: bool = True) -> None:
    """Three records; the coordinator hears of the partition only if it joins."""
    joining_version = producer.produce_version
    sequence = producer.sequences.take(where, 3)
    batch = raw.batch_of(numbered(3), stamp=producer.stamp, sequence=sequence)
    producer.produce_version = joining_version if joins else producing.HIGHEST_VERSION
    [answer] = raw.send(*connected, [Batch(*where, batch)], producer)
    assert answer.error_code == 0
    producer.produce_version = joining_version
    producer.joined.add(where)


def open_partitions(connected: raw.Connected, partitions: list[TopicPartition]) -> list[TopicPartition]:
    return [state.where for state in describe(connected[1], partitions) if state.is_open]


def visible(cluster: EmbeddedCluster, where: TopicPartition) -> int:
    return sum(1 for _ in read_committed(cluster.bootstrap_servers, where))


@pytest.mark.parametrize(("commit", "count"), [(True, 3), (False, 0)])
def test_a_partition_that_was_forgotten_ends_as_the_others_did(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected, commit: bool, count: int
) -> None:
    one, other, forgotten = (TopicPartition(topic, number) for number in range(3))
    all_of_it = [one, other, forgotten]
    producer = producer_of(connected, topic)
    write(connected, producer, one)
    producer.end(not commit)  # an earlier transaction, which says nothing of the later one
    write(connected, producer, other)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit)
    successor = producer_of(connected, topic)
    assert open_partitions(connected, all_of_it) == [forgotten]
    assert end_leftovers(connected[1], [successor], all_of_it).ended == [forgotten]
    assert open_partitions(connected, all_of_it) == []
    assert visible(trusting, forgotten) == visible(trusting, other) == count
    assert end_leftovers(connected[1], [successor], all_of_it) == Sweep([], {})


@pytest.mark.parametrize(("commit", "count"), [(True, 3), (False, 0)])
def test_the_end_is_found_also_behind_what_came_after_it(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected, commit: bool, count: int
) -> None:
    one, other, forgotten = (TopicPartition(topic, number) for number in range(3))
    producer = producer_of(connected, topic)
    write(connected, producer, one)
    producer.end(not commit)
    write(connected, producer, other)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit)
    for _ in range(3):  # more transactions of the same producer, which end otherwise
        write(connected, producer, one)
        write(connected, producer, other)
        producer.end(not commit)
    successor = producer_of(connected, topic)
    assert end_leftovers(connected[1], [successor], [one, other, forgotten]).ended == [forgotten]
    assert visible(trusting, forgotten) == count


def test_what_was_not_written_in_the_same_transaction_says_nothing_of_its_end(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected
) -> None:
    one, other, forgotten = (TopicPartition(topic, number) for number in range(3))
    producer = producer_of(connected, topic)
    write(connected, producer, one)
    producer.end(commit=True)
    write(connected, producer, other)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit=False)
    write(connected, producer, one)
    producer.end(commit=True)
    successor = producer_of(connected, topic)
    assert end_leftovers(connected[1], [successor], [one, other, forgotten]).ended == [forgotten]
    assert visible(trusting, forgotten) == 0


# -- partitions that cannot be asked -----------------------------------------------------------------------------------


def test_a_partition_that_is_gone_is_told_and_not_taken_for_a_quiet_one(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_LEADER_SECONDS", 0.5)
    gone = TopicPartition(create_topic(trusting.bootstrap_servers, fresh_name("gone")), 0)
    connected[1].refresh([gone.topic])
    with closing(KafkaAdminClient(bootstrap_servers=trusting.bootstrap_servers)) as admin:
        admin.delete_topics([gone.topic])
    ours = producer_of(connected, topic)
    with pytest.raises(BrokerUnavailable, match=f"{gone}: "):
        list(describe(connected[1], [TopicPartition(topic, 0), gone]))
    sweep = end_leftovers(connected[1], [ours], [TopicPartition(topic, 0), gone])
    assert list(sweep.unreachable) == [gone]


@pytest.fixture(scope="module")
def halved() -> Iterator[EmbeddedCluster]:
    settings = {"transaction.partition.verification.enable": "false"}
    with running_clusters(ClusterSpec("halved", brokers=2, separate_controller=True, settings=settings)) as [cluster]:
        yield cluster


def test_partitions_without_a_leader_do_not_keep_others_from_being_ended(
    halved: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_LEADER_SECONDS", 0.5)
    topic = fresh_name("halved")
    with closing(KafkaAdminClient(bootstrap_servers=halved.bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(topic, replica_assignments={0: [1], 1: [1], 2: [2], 3: [2]})])
    await_leaders(halved.bootstrap_servers, topic, 4)
    witness, forgotten, lost_witness, lost = (TopicPartition(topic, number) for number in range(4))
    ids = [f"told-{topic}", f"untold-{topic}"]
    remaining = halved.brokers[0].spec.listeners[0].address
    with raw.network(remaining, topic) as connected:
        told, untold = (TransactionalProducer(connected[1], name, TIMEOUT_MS) for name in ids)
        write(connected, told, witness)
        write(connected, told, forgotten, joins=False)
        told.end(commit=True)
        write(connected, untold, lost_witness)
        write(connected, untold, witness, joins=False)
        untold.end(commit=True)
        wait_until(lambda: open_partitions(connected, [lost_witness]) == [], "the end of both transactions")
    halved.brokers[1].stop()
    with raw.network(remaining) as connected:
        wait_until(lambda: leaderless(connected, topic) == {2, 3}, "the partitions to be without a leader")
        heirs = [TransactionalProducer(connected[1], name, TIMEOUT_MS) for name in ids]
        sweep = end_leftovers(connected[1], heirs, [witness, forgotten, lost_witness, lost])
        assert sweep.ended == [forgotten]
        assert sweep.unreachable.keys() == {lost_witness, lost, witness}
        assert "has no leader" in sweep.unreachable[lost]
        assert f"only {lost_witness}" in sweep.unreachable[witness]
        assert open_partitions(connected, [witness, forgotten]) == [witness]


def leaderless(connected: raw.Connected, topic: str) -> set[int]:
    """The partitions that have no leader, by what the cluster says now."""
    connected[1].look_up([topic])
    return {number for number in connected[1].partitions(topic) if not _has_leader(connected, topic, number)}


def _has_leader(connected: raw.Connected, topic: str, number: int) -> bool:
    try:
        connected[1].leader(topic, number)
    except BrokerUnavailable:
        return False
    return True


# -- what is left alone ------------------------------------------------------------------------------------------------


def test_what_nobody_knows_the_end_of_is_aborted_and_the_producer_can_go_on(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected
) -> None:
    first, second, third = (TopicPartition(topic, number) for number in range(3))
    producer = producer_of(connected, topic)
    write(connected, producer, first)
    producer.end(commit=True)
    write(connected, producer, second, joins=False)
    write(connected, producer, third, joins=False)
    successor = producer_of(connected, topic)
    assert set(end_leftovers(connected[1], [successor], [first, second, third]).ended) == {second, third}
    assert (visible(trusting, first), visible(trusting, second), visible(trusting, third)) == (3, 0, 0)
    write(connected, successor, second)
    successor.end(commit=True)
    assert visible(trusting, second) == 3


def test_transactions_of_others_and_of_now_are_left_alone(topic: str, connected: raw.Connected) -> None:
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    stranger = TransactionalProducer(connected[1], f"stranger-{topic}", TIMEOUT_MS)
    ours = producer_of(connected, topic)
    write(connected, stranger, first)
    write(connected, ours, second)
    assert end_leftovers(connected[1], [ours], [first, second]) == Sweep([], {})
    assert set(open_partitions(connected, [first, second])) == {first, second}
    stranger.end(commit=False)
    ours.end(commit=False)
