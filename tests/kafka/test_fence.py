"""Who writes without transactions is locked out by markers only, and a lane knows when its id is not its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.lease import LEASE_SECONDS, Lease
from heliograph.errors import BrokerUnavailable, Fenced, LoopFailed
from heliograph.kafka import fence
from heliograph.kafka.fence import Fence
from heliograph.kafka.network import Network
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import PlainProducer, TransactionalProducer, take_all
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

_INVALID_PRODUCER_EPOCH = 47


@pytest.fixture
def where(backup: EmbeddedCluster) -> TopicPartition:
    return TopicPartition(create_topic(backup.bootstrap_servers, fresh_name("fenced"), 3), 0)


@pytest.fixture
def network(backup: EmbeddedCluster, where: TopicPartition) -> Iterator[Network]:
    with raw.network(backup.bootstrap_servers, where.topic) as (_, connected):
        yield connected


def taken(network: Network, name: str) -> TransactionalProducer:
    [producer] = take_all(network, [name], 10_000)
    return producer


def write(network: Network, where: TopicPartition, producer: PlainProducer, count: int = 5) -> int:
    """The error code of one batch."""
    sequence = producer.sequences.take(where, count)
    data = raw.batch_of(numbered(count), stamp=producer.stamp, sequence=sequence)
    [answer] = raw.send(network.loop, network, [Batch(*where, data)], producer)
    return answer.error_code


def test_only_a_marker_stops_a_plain_writer(network: Network, where: TopicPartition) -> None:
    name = fresh_name("writer")
    old = PlainProducer(name, taken(network, name).stamp)
    assert write(network, where, old) == 0
    successor = taken(network, name)
    assert write(network, where, old) == 0, "a new epoch alone does not stop it"
    assert fence.put_up(network, [Fence(successor, frozenset({where}))]) == {}
    assert write(network, where, old) == _INVALID_PRODUCER_EPOCH
    assert write(network, where, PlainProducer(name, successor.stamp)) == 0, "sequence numbers begin at 0 again"


def test_fences_of_several_ids_stand_in_all_their_partitions(network: Network, where: TopicPartition) -> None:
    names = [fresh_name("writer") for _ in range(3)]
    everywhere = frozenset(TopicPartition(where.topic, number) for number in range(3))
    old = [PlainProducer(name, taken(network, name).stamp) for name in names]
    for producer in old:
        assert all(write(network, one, producer) == 0 for one in everywhere)
    fences = [Fence(producer, everywhere) for producer in take_all(network, names, 10_000)]
    assert fence.put_up(network, fences) == {}
    for producer in old:
        assert all(write(network, one, producer) == _INVALID_PRODUCER_EPOCH for one in everywhere)


def test_where_nobody_leads_no_fence_can_stand(network: Network, where: TopicPartition) -> None:
    gone = TopicPartition(fresh_name("gone"), 0)
    name = fresh_name("writer")
    [(missing, reason)] = fence.put_up(network, [Fence(taken(network, name), frozenset({where, gone}))]).items()
    assert missing == gone
    assert "no leader" in reason
    with pytest.raises(BrokerUnavailable, match=gone.topic):
        fence.check_put_up(network, [Fence(taken(network, name), frozenset({gone}))])


# -- leases ------------------------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def answered(network: Network) -> bool:
    return not network.loop._has_pending()


def test_a_lease_lasts_as_long_as_the_coordinator_confirms_it(network: Network) -> None:
    name, clock = fresh_name("leased"), Clock()
    lease = Lease(network, name, taken(network, name).stamp, clock.now, clock)
    for _ in range(3):
        clock.now += LEASE_SECONDS / 2
        lease.renew()
        network.loop.run_until(lambda: answered(network))
        lease.check()
    clock.now += LEASE_SECONDS + 1
    with pytest.raises(BrokerUnavailable, match="still ours"):
        lease.check()


def test_a_lease_ends_when_somebody_else_takes_the_id(network: Network) -> None:
    name, clock = fresh_name("leased"), Clock()
    lease = Lease(network, name, taken(network, name).stamp, clock.now, clock)
    taken(network, name)
    clock.now += LEASE_SECONDS / 2
    lease.renew()
    with pytest.raises(LoopFailed) as failed:
        network.loop.run_until(lambda: answered(network))
    assert isinstance(failed.value.why, Fenced)
