"""Transactions whose end some partitions never heard of, made on a broker that lets us write without joining."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import kafka
import pytest
from kafka import KafkaAdminClient
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    ResourcePattern,
    ResourceType,
)

from heliograph.config.secret import Secret
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.listeners import ACCESS_CONTROL, sasl_plain
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import leftovers, reading
from heliograph.kafka.access import Access, Credentials
from heliograph.kafka.leftovers import Background, Sweep, describe, end_leftovers, open_leftovers
from heliograph.kafka.network import opened
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.checker.stock_reader import read_committed
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.forgotten import TRUSTING, open_partitions, write
from tests.zoo.topics import await_leaders, create_topic, fresh_name

pytestmark = pytest.mark.kafka
TIMEOUT_MS = 60_000


@pytest.fixture(scope="module")
def trusting() -> Iterator[EmbeddedCluster]:
    settings = {**TRUSTING, "producer.id.expiration.check.interval.ms": "100"}
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
    with running_clusters(ClusterSpec("halved", brokers=2, separate_controller=True, settings=TRUSTING)) as [cluster]:
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


# -- when evidence has expired -----------------------------------------------------------------------------------------


@pytest.fixture
def forgetful(trusting: EmbeddedCluster) -> Iterator[None]:
    """Brokers forget producers that have ended their transactions within a moment, instead of a day."""
    set_on_brokers(trusting, "producer.id.expiration.ms", "1")
    yield
    set_on_brokers(trusting, "producer.id.expiration.ms", "86400000")


def set_on_brokers(cluster: EmbeddedCluster, name: str, value: str) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        brokers = [str(broker.spec.node_id) for broker in cluster.brokers]
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, one, configs={name: value}) for one in brokers])


def cut(cluster: EmbeddedCluster, where: TopicPartition) -> None:
    """Delete all records of a partition, as the ledger's are when the offset map has them."""
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        admin.delete_records({kafka.TopicPartition(*where): -1})


def await_oblivion(connected: raw.Connected, where: TopicPartition) -> None:
    wait_until(lambda: not list(describe(connected[1], [where])), "the broker to forget the producer")


def sweep_with(
    connected: raw.Connected, topic: str, reached: dict[TopicPartition, int], *more: TopicPartition
) -> Sweep:
    """A sweep of all by the successor, while partition 1 is the ledger."""
    ledger, successor = TopicPartition(topic, 1), producer_of(connected, topic)
    partitions = [TopicPartition(topic, number) for number in range(3)]
    return end_leftovers(
        connected[1], [successor], [*partitions, *more], Background(reached=lambda: reached, told_all=ledger)
    )


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("commit", [True, False])
def test_the_position_tells_when_markers_and_producers_are_gone(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected, commit: bool
) -> None:
    before, ledger, forgotten = (TopicPartition(topic, number) for number in range(3))
    producer = producer_of(connected, topic)
    write(connected, producer, forgotten)
    write(connected, producer, before)
    producer.end(commit=True)
    [start] = ends_of(connected, forgotten)
    write(connected, producer, ledger)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit)
    wait_until(lambda: open_partitions(connected, [ledger]) == [], "the end of the transaction")
    cut(trusting, ledger)
    await_oblivion(connected, ledger)
    last = start + 2 if commit else start - 2  # before it lie three records and a marker
    assert sweep_with(connected, topic, {forgotten: last}).ended == [forgotten]
    assert visible(trusting, forgotten) == (6 if commit else 3)


def ends_of(connected: raw.Connected, where: TopicPartition) -> list[int]:
    return list(reading.list_many(connected[1], {where: reading.LATEST}).values())


@pytest.mark.usefixtures("forgetful")
def test_nothing_is_aborted_when_all_evidence_is_gone(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected
) -> None:
    ledger, forgotten = TopicPartition(topic, 1), TopicPartition(topic, 2)
    producer = producer_of(connected, topic)
    write(connected, producer, ledger)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit=True)
    wait_until(lambda: open_partitions(connected, [ledger]) == [], "the end of the transaction")
    cut(trusting, ledger)
    await_oblivion(connected, ledger)
    sweep = sweep_with(connected, topic, {})
    assert (sweep.ended, sweep.unreachable.keys()) == ([], {forgotten})
    assert "nothing tells any more" in sweep.unreachable[forgotten]
    assert open_partitions(connected, [forgotten]) == [forgotten]
    write_as_another(connected, topic, forgotten)
    [end] = ends_of(connected, forgotten)
    sweep = sweep_with(connected, topic, {forgotten: end - 1})  # which speaks of the other's records
    assert (sweep.ended, sweep.unreachable.keys()) == ([], {forgotten})


def write_as_another(connected: raw.Connected, topic: str, where: TopicPartition) -> None:
    other = TransactionalProducer(connected[1], f"another-{topic}", TIMEOUT_MS)
    write(connected, other, where)
    other.end(commit=True)


@pytest.mark.usefixtures("forgetful")
def test_the_ledger_tells_when_the_broker_has_forgotten_who_wrote_to_it(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected
) -> None:
    ledger, forgotten = TopicPartition(topic, 1), TopicPartition(topic, 2)
    producer = producer_of(connected, topic)
    write(connected, producer, ledger)
    write(connected, producer, forgotten, joins=False)
    producer.end(commit=True)
    await_oblivion(connected, ledger)
    assert sweep_with(connected, topic, {}).ended == [forgotten]
    assert visible(trusting, forgotten) == 3


def test_what_wrote_nothing_to_the_ledger_was_not_committed(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected
) -> None:
    ledger, forgotten = TopicPartition(topic, 1), TopicPartition(topic, 2)
    producer = producer_of(connected, topic)
    write(connected, producer, ledger)
    producer.end(commit=True)
    wait_until(lambda: open_partitions(connected, [ledger]) == [], "the end of the transaction")
    write(connected, producer, forgotten, joins=False)
    assert sweep_with(connected, topic, {}).ended == [forgotten]
    assert visible(trusting, forgotten) == 0


# -- producer ids that nobody has any more -----------------------------------------------------------------------------


@pytest.mark.parametrize(("commit", "count"), [(True, 3), (False, 0)])
def test_what_an_earlier_producer_id_left_open_ends_as_elsewhere(
    trusting: EmbeddedCluster, topic: str, connected: raw.Connected, commit: bool, count: int
) -> None:
    other, forgotten = TopicPartition(topic, 0), TopicPartition(topic, 2)
    former = TransactionalProducer(connected[1], f"former-{topic}", TIMEOUT_MS)
    write(connected, former, other)
    write(connected, former, forgotten, joins=False)
    former.end(commit)
    wait_until(lambda: open_partitions(connected, [other]) == [], "the end of the transaction")
    ours = producer_of(connected, topic)
    assert end_leftovers(connected[1], [ours], [other, forgotten]) == Sweep([], {})
    ids = {former.stamp.producer_id}
    assert open_leftovers(connected[1], [other, forgotten], lambda: ids, 0).ended == [forgotten]
    assert end_leftovers(connected[1], [ours], [other, forgotten], Background(lambda: ids)).ended == [forgotten]
    assert open_partitions(connected, [forgotten]) == []
    assert visible(trusting, forgotten) == count


# -- partitions that we may not ask about ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded() -> Iterator[EmbeddedCluster]:
    listener = sasl_plain("CLIENTS", {"mirror": "secret"})
    settings = {**TRUSTING, **ACCESS_CONTROL}
    with running_clusters(ClusterSpec("guarded", listeners=[listener], settings=settings)) as [cluster]:
        yield cluster


def grant(cluster: EmbeddedCluster, name: str, *operations: ACLOperation) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        for kind in (ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID):
            pattern = ResourcePattern(kind, name)
            mine = operations if kind is ResourceType.TOPIC else set(operations) - {ACLOperation.READ}
            admin.create_acls([ACL("User:mirror", "*", one, ACLPermissionType.ALLOW, pattern) for one in mine])


def mirror_of(guarded: EmbeddedCluster) -> Access:
    login = Credentials("PLAIN", "mirror", Secret("secret"))
    return Access("guarded", guarded.addresses("CLIENTS").split(","), credentials=login)


def test_what_we_may_not_end_is_told_with_what_it_takes(guarded: EmbeddedCluster) -> None:
    """The coordinator does nothing for a producer id that has rolled over."""
    topic = create_topic(guarded.bootstrap_servers, fresh_name("former"), 2)
    witness, forgotten = TopicPartition(topic, 0), TopicPartition(topic, 1)
    for name in (topic, f"id-{topic}"):
        grant(guarded, name, ACLOperation.READ, ACLOperation.DESCRIBE, ACLOperation.WRITE)
    with raw.network(guarded.bootstrap_servers, topic) as connected:
        former = TransactionalProducer(connected[1], f"former-{topic}", TIMEOUT_MS)
        write(connected, former, witness)
        write(connected, former, forgotten, joins=False)
        former.end(commit=True)
        wait_until(lambda: open_partitions(connected, [witness]) == [], "the end of the transaction")
    with opened(mirror_of(guarded), [topic]) as connected:
        ours, ids = producer_of(connected, topic), {former.stamp.producer_id}
        sweep = end_leftovers(connected[1], [ours], [witness, forgotten], Background(lambda: ids))
    assert (sweep.ended, sweep.unreachable.keys()) == ([], {forgotten})
    assert "could not commit it, which takes the right to alter the cluster" in sweep.unreachable[forgotten]


def test_a_denied_partition_is_no_quiet_one(guarded: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "_MARKER_SECONDS", 0.2)
    readable, denied = fresh_name("readable"), create_topic(guarded.bootstrap_servers, fresh_name("denied"), 3)
    create_topic(guarded.bootstrap_servers, readable, 1)
    witness, forgotten, quiet = (TopicPartition(denied, number) for number in range(3))
    seen = TopicPartition(readable, 0)
    read, see, change = ACLOperation.READ, ACLOperation.DESCRIBE, ACLOperation.WRITE
    grant(guarded, readable, read, see, change)
    grant(guarded, denied, see, change)
    with raw.network(guarded.bootstrap_servers, readable, denied) as connected:
        producer = producer_of(connected, denied)
        write(connected, producer, witness)
        write(connected, producer, forgotten, joins=False)
        write(connected, producer, seen, joins=False)
        producer.end(commit=True)
        wait_until(lambda: open_partitions(connected, [witness]) == [], "the end of the transaction")
    grant(guarded, f"id-{denied}", see, change)
    everything = [witness, forgotten, quiet, seen]
    with opened(mirror_of(guarded), [readable, denied]) as connected:
        sweep = end_leftovers(connected[1], [producer_of(connected, denied)], everything)
        assert (sweep.ended, sweep.unreachable.keys()) == ([], {forgotten, seen})
        assert "no right to read" in sweep.unreachable[forgotten]
        assert open_leftovers(connected[1], [quiet], lambda: (), 0) == Sweep([], {})
        assert open_leftovers(connected[1], [forgotten], lambda: (), 0).unreachable.keys() == {forgotten}


# -- the first generation ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def older() -> Iterator[EmbeddedCluster]:
    """A cluster like those of Kafka 3."""
    with running_clusters(ClusterSpec("older", features={"transaction.version": 1}, settings=TRUSTING)) as [cluster]:
        yield cluster


@pytest.mark.parametrize(("reached", "count"), [(2, 3), (-1, 0), (None, None)])
def test_in_the_first_generation_only_the_position_tells(
    older: EmbeddedCluster, reached: int | None, count: int | None
) -> None:
    topic = create_topic(older.bootstrap_servers, fresh_name("left"), 2)
    other, forgotten = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with raw.network(older.bootstrap_servers, topic) as connected:
        producer = producer_of(connected, topic)
        producer.join([other])
        write(connected, producer, other)
        write(connected, producer, forgotten, joins=False)
        producer.end(commit=reached != -1)
        producer.join([other])
        write(connected, producer, other)
        producer.end(commit=reached == -1)  # with the same epoch
        known = {} if reached is None else {forgotten: reached}
        heir = producer_of(connected, topic)
        sweep = end_leftovers(connected[1], [heir], [other, forgotten], Background(reached=lambda: known))
        if count is None:
            assert (sweep.ended, sweep.unreachable.keys()) == ([], {forgotten})
        else:
            assert sweep == Sweep([forgotten], {})
            assert visible(older, forgotten) == count
