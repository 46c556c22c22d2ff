"""Transactions whose end some partitions never heard of, made on a broker that lets us write without joining."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka import producing
from heliograph.kafka.leftovers import describe, end_leftovers
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.checker.stock_reader import read_committed
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

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
    assert end_leftovers(connected[1], [successor], all_of_it) == [forgotten]
    assert open_partitions(connected, all_of_it) == []
    assert visible(trusting, forgotten) == visible(trusting, other) == count
    assert end_leftovers(connected[1], [successor], all_of_it) == []


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
    assert set(end_leftovers(connected[1], [successor], [first, second, third])) == {second, third}
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
    assert end_leftovers(connected[1], [ours], [first, second]) == []
    assert set(open_partitions(connected, [first, second])) == {first, second}
    stranger.end(commit=False)
    ours.end(commit=False)
