from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import InitProducerIdRequest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.errors import BrokerRefused, Fenced
from heliograph.kafka import batches
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.connection import Connection
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import Sequences, TransactionalProducer, take_all
from heliograph.model import TopicPartition
from tests.checker.stock_reader import read_committed
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name
from tests.zoo.transactions import RawTransaction

pytestmark = pytest.mark.kafka
TIMEOUT_MS = 60_000
FENCED_CODES = {47, 90}


@pytest.fixture(scope="module")
def first_generation() -> Iterator[EmbeddedCluster]:
    """A cluster like those of Kafka 3: partitions join a transaction before they are written to."""
    with running_clusters(ClusterSpec("older", features={"transaction.version": 1})) as [cluster]:
        yield cluster


@pytest.fixture(scope="module", params=["second generation", "first generation"])
def cluster(request: pytest.FixtureRequest, primary: EmbeddedCluster) -> EmbeddedCluster:
    if request.param == "second generation":
        return primary
    older: EmbeddedCluster = request.getfixturevalue("first_generation")
    return older


@pytest.fixture
def where(cluster: EmbeddedCluster) -> TopicPartition:
    return TopicPartition(create_topic(cluster.bootstrap_servers, fresh_name("transaction")), 0)


@pytest.fixture
def connected(cluster: EmbeddedCluster, where: TopicPartition) -> Iterator[raw.Connected]:
    with raw.network(cluster.bootstrap_servers, where.topic) as opened:
        yield opened


def count_visible(cluster: EmbeddedCluster, where: TopicPartition) -> int:
    return sum(1 for _ in read_committed(cluster.bootstrap_servers, where))


def last_marker(cluster: EmbeddedCluster, where: TopicPartition) -> int:
    markers = [data for header, data in raw.fetch_batches(cluster.bootstrap_servers, where) if header.is_control]
    return batches.control_type(memoryview(markers[-1]))


@pytest.mark.parametrize(("commit", "visible"), [(True, 3), (False, 0)])
def test_records_are_seen_after_a_commit_and_never_after_an_abort(
    cluster: EmbeddedCluster, where: TopicPartition, connected: raw.Connected, commit: bool, visible: int
) -> None:
    transaction = RawTransaction(connected, f"id-{where}", where)
    transaction.write(3, 0)
    assert count_visible(cluster, where) == 0
    transaction.end(commit)
    assert_ended(cluster, where, marker=int(commit))
    assert count_visible(cluster, where) == visible


def assert_ended(cluster: EmbeddedCluster, where: TopicPartition, marker: int) -> None:
    """Waits for the marker, which the coordinator writes after it has answered, by taking the next step of the id."""
    with raw.network(cluster.bootstrap_servers, where.topic) as connected:
        TransactionalProducer(connected[1], f"id-{where}", TIMEOUT_MS)
    assert last_marker(cluster, where) == marker


def test_a_successor_ends_what_was_left_open_and_locks_the_old_one_out(
    cluster: EmbeddedCluster, where: TopicPartition, connected: raw.Connected
) -> None:
    old = RawTransaction(connected, f"id-{where}", where)
    old.write(3, 0)
    new = RawTransaction(connected, f"id-{where}", where)
    assert (new.stamp.producer_id, new.stamp.epoch > old.stamp.epoch) == (old.stamp.producer_id, True)
    assert last_marker(cluster, where) == 0
    with pytest.raises(Fenced, match="taken over"):
        old.end(commit=True)
    new.write(2, 10)
    new.end(commit=True)
    assert_ended(cluster, where, marker=1)
    assert count_visible(cluster, where) == 2


def test_a_zombies_data_is_refused(cluster: EmbeddedCluster, where: TopicPartition, connected: raw.Connected) -> None:
    loop, network = connected
    old = TransactionalProducer(network, f"id-{where}", TIMEOUT_MS)
    old.join([where])
    TransactionalProducer(network, f"id-{where}", TIMEOUT_MS)
    data = raw.batch_of(numbered(1), stamp=old.stamp, sequence=0)
    [answer] = raw.send(loop, network, [Batch(*where, data)], old)
    assert answer.error_code in FENCED_CODES
    with pytest.raises(Fenced):
        old.end(commit=True)


def test_transactions_follow_each_other(
    cluster: EmbeddedCluster, where: TopicPartition, connected: raw.Connected
) -> None:
    transaction = RawTransaction(connected, f"id-{where}", where)
    for round_ in range(5):
        transaction.write(2, 10 * round_)
        transaction.end(commit=round_ % 2 == 0)
    assert_ended(cluster, where, marker=1)
    assert count_visible(cluster, where) == 6


def test_an_empty_transaction_is_not_sent(connected: raw.Connected, where: TopicPartition) -> None:
    producer = TransactionalProducer(connected[1], f"id-{where}", TIMEOUT_MS)
    assert producer.stamp == ProducerStamp(producer.stamp.producer_id, producer.stamp.epoch, is_transactional=True)
    in_flight_before = producer._coordinator._correlation_id
    producer.end(commit=True)
    assert producer._coordinator._correlation_id == in_flight_before


def test_joining_a_topic_that_does_not_exist_names_the_reason(first_generation: EmbeddedCluster) -> None:
    with raw.network(first_generation.bootstrap_servers) as (_, network):
        producer = TransactionalProducer(network, "joins nothing", TIMEOUT_MS)
        with pytest.raises(BrokerRefused) as caught:
            producer.join([TopicPartition("no-such-topic", 0)])
    assert caught.value.code == 3
    assert producer.joined == set()


def test_sequence_numbers_wrap_around_per_partition() -> None:
    sequences = Sequences()
    one, other = TopicPartition("t", 0), TopicPartition("t", 1)
    assert [sequences.take(one, 3), sequences.take(other, 2), sequences.take(one, 2**31 - 4)] == [0, 0, 3]
    assert [sequences.take(one, 5), sequences.take(one, 1)] == [2**31 - 1, 4]
    sequences.restart()
    assert sequences.take(one, 1) == 0


# -- many at once ------------------------------------------------------------------------------------------------------


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """By kind of request, the most that were on their way at the same time over one connection."""
    most: Counter[int] = Counter()
    send = Connection.send

    def watched(self: Connection, api_key: int, *others: Any, **named: Any) -> None:
        send(self, api_key, *others, **named)
        most[api_key] = max(most[api_key], len(self._pending))

    monkeypatch.setattr(Connection, "send", watched)
    return most


def test_many_ids_are_taken_in_a_few_round_trips(
    cluster: EmbeddedCluster, connected: raw.Connected, where: TopicPartition, unanswered: Counter[int]
) -> None:
    names = [f"many-{where}-{number}" for number in range(20)]
    before = RawTransaction(connected, names[7], where)
    before.write(3, 0)
    producers = take_all(connected[1], names, TIMEOUT_MS)
    assert [producer.transactional_id for producer in producers] == names
    assert len({producer.stamp.producer_id for producer in producers}) == len(names)
    assert producers[7].stamp.producer_id == before.stamp.producer_id
    assert producers[7].stamp.epoch > before.stamp.epoch
    with pytest.raises(Fenced):
        before.end(commit=True)
    assert count_visible(cluster, where) == 0
    assert unanswered[FindCoordinatorRequest.API_KEY] == len(names)
    assert unanswered[InitProducerIdRequest.API_KEY] == len(names)


def test_an_id_that_cannot_be_taken_is_named_among_many(connected: raw.Connected, where: TopicPartition) -> None:
    with pytest.raises(BrokerRefused, match=f"transaction long-{where}: cannot initialise"):
        take_all(connected[1], [f"long-{where}"], timeout_ms=2**31 - 1)
