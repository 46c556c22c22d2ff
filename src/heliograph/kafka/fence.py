"""Keeps those out who write without transactions: markers of a newer epoch, in every partition that they write to.

Initialising a transactional id locks out transactions of its earlier epochs, but brokers take plain batches under them
until they see a newer epoch in the partition itself. So an empty transaction is aborted there: it leaves nothing but
its marker. Only a marker that can be seen below the high watermark counts: coordinators forget partitions that have no
leader just then, and a leader that is lost takes with it what its followers lack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from kafka.protocol.admin.transactions import DescribeTransactionsRequest

from heliograph.errors import BrokerRefused, BrokerUnavailable
from heliograph.kafka import reading
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import LEADER_CHANGES, TRANSACTION, Network, check
from heliograph.kafka.patience import Patience
from heliograph.kafka.reading import LATEST
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition

_GROUP = 500  # partitions of one transaction: its markers go to each broker in one request
_LEADER_SECONDS = 5.0  # that a partition may take to get a leader
_SEEN_SECONDS = 2.0  # until markers are written once more that cannot be seen
_ATTEMPTS = 5
_ENDING = {"PrepareAbort", "PrepareCommit"}
_LOADING = {14, 15, 16}  # coordinator loading, not available, not the coordinator


class Fence(NamedTuple):
    """An id that has just been initialised, and where nobody must write any more under its earlier epochs."""

    producer: TransactionalProducer
    partitions: frozenset[TopicPartition]


def put_up(network: Network, fences: Sequence[Fence]) -> dict[TopicPartition, str]:
    """Put up fences, and wait until they can be seen; returns where that is not possible, and why."""
    wanted = frozenset().union(*(fence.partitions for fence in fences))
    unreachable = without_leader(network, wanted)
    missing = [Fence(one.producer, one.partitions - unreachable.keys()) for one in fences]
    for _ in range(_ATTEMPTS):
        missing = [fence for fence in missing if fence.partitions]
        if not missing:
            return unreachable
        starts = reading.list_many(network, dict.fromkeys(_all(missing), LATEST))
        for fence in missing:
            _write(fence)
        missing = _unseen(network, missing, starts)
    unreachable |= dict.fromkeys(_all(missing), "the fence against earlier lanes does not appear there")
    return unreachable


def check_put_up(network: Network, fences: Sequence[Fence]) -> None:
    """Put up fences where nothing can go on without them."""
    for where, reason in put_up(network, fences).items():
        raise BrokerUnavailable(f"{network.access.alias} {where}: {reason}")


def write_markers(network: Network, fence: Fence) -> None:
    """Write markers that keep nobody out: where that is not possible, it does no harm."""
    led = {where for where in fence.partitions if network.has_leader(*where)}
    _write(Fence(fence.producer, frozenset(led)))


def await_written(network: Network, producer: TransactionalProducer) -> None:
    """Wait until the coordinator writes no more markers for an id."""
    name = str(producer.transactional_id)
    request = DescribeTransactionsRequest(transactional_ids=[name])
    patience = Patience()
    while True:
        connection = network.coordinator(name, TRANSACTION)
        [state] = connection.call(
            request, connection.version(DescribeTransactionsRequest, highest=0)
        ).transaction_states
        if not state.error_code and state.transaction_state not in _ENDING:
            return
        if state.error_code not in {0, *_LOADING}:
            check(f"{network.access.alias} {name}", state.error_code)
        if not patience.wait():
            raise BrokerUnavailable(f"{network.access.alias} {name}: its markers are not written")


def without_leader(network: Network, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
    """Those that nobody leads, after waiting for a while, or that are gone."""
    patience = Patience(_LEADER_SECONDS)
    while True:
        late = {where for where in partitions if not network.has_leader(*where)}
        if not late or not patience.wait():
            return dict.fromkeys(late, "it has no leader, so nobody can be kept from writing to it")
        network.look_up({where.topic for where in late})


def _all(fences: Sequence[Fence]) -> frozenset[TopicPartition]:
    return frozenset().union(*(fence.partitions for fence in fences))


def _write(fence: Fence) -> None:
    ordered = sorted(fence.partitions)
    for start in range(0, len(ordered), _GROUP):
        fence.producer.end_elsewhere(ordered[start : start + _GROUP], commit=False)


def _unseen(network: Network, fences: Sequence[Fence], starts: Mapping[TopicPartition, int]) -> list[Fence]:
    """Those that cannot be seen in time, as far as their partitions go."""
    patience = Patience(_SEEN_SECONDS)
    read_to = dict(starts)
    missing = list(fences)
    while True:
        seen = set(_markers(network, _all(missing), read_to))
        missing = [Fence(one.producer, frozenset(_left(one, seen))) for one in missing]
        missing = [one for one in missing if one.partitions]
        if not missing or not patience.wait():
            return missing


def _left(fence: Fence, seen: Collection[tuple[TopicPartition, int, int]]) -> Iterator[TopicPartition]:
    stamp: ProducerStamp = fence.producer.stamp
    for where in fence.partitions:
        if (where, stamp.producer_id, stamp.epoch) not in seen:
            yield where


def _markers(
    network: Network, partitions: Collection[TopicPartition], read_to: dict[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, int, int]]:
    """The markers that can be seen by now, by partition, producer id and epoch."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for where in partitions:
        by_topic.setdefault(where.topic, []).append(where)
    for topic, members in by_topic.items():
        try:
            ends = reading.list_many(network, dict.fromkeys(members, LATEST))
            spans = {where.partition: read_to[where] for where in members}
            limits = {where.partition: ends[where] for where in members}
            for batch in reading.read_log(network.loop, network, topic, spans, limits, isolation=READ_UNCOMMITTED):
                if batch.header.is_control:
                    header = batch.header
                    yield TopicPartition(topic, batch.partition), header.producer_id, header.producer_epoch
        except BrokerRefused as error:  # the leader has moved: ask again
            if error.code not in LEADER_CHANGES:
                raise
            network.look_up([topic])
