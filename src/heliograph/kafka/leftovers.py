"""Ends transactions of ours whose end did not reach all partitions.

A coordinator that tells partitions how a transaction has ended takes one without a leader at that moment for deleted,
and forgets it (seen with Kafka 4.3 when brokers are killed). Whoever reads committed records then waits there for
ever, and a later transaction of the same producer would end the old one along with itself, perhaps in the wrong way.
So before a producer writes anew, it looks whether anything of its past is still open, finds out how that ended
elsewhere, and ends it the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafka.protocol.admin.transactions import DescribeProducersRequest

from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading
from heliograph.kafka.batches import control_type
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.patience import Patience
from heliograph.kafka.reading import LogBatch
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

_COMMIT = 1
_PATIENCE_SECONDS = 15.0


class ProducerState(NamedTuple):
    """What a partition knows of a producer."""

    where: TopicPartition
    producer_id: int
    epoch: int
    last_timestamp: int
    is_open: bool  # it has written something whose end is not known there
    is_transactional: bool  # it writes, or has written, in transactions


def end_leftovers(
    network: Network, producers: Sequence[TransactionalProducer], partitions: Collection[TopicPartition]
) -> list[TopicPartition]:
    """End what is still open of the past of producers that have just been initialised; returns where that was."""
    ours = {producer.stamp.producer_id: producer for producer in producers if producer.has_epoch_per_transaction}
    states = [state for state in describe(network, partitions) if state.producer_id in ours] if ours else []
    ended: list[TopicPartition] = []
    for producer_id, producer in ours.items():
        known = [state for state in states if state.producer_id == producer_id]
        open_ones = [state for state in known if state.is_open and state.epoch < producer.stamp.epoch]
        for epoch in sorted({state.epoch for state in open_ones}):
            left = [state.where for state in open_ones if state.epoch == epoch]
            commit = _was_committed(network, known, epoch)
            producer.end_elsewhere(left, commit)
            log.warning(
                "%s: %s had not heard of the end of transaction %s: %s now, as elsewhere",
                network.access.alias, ", ".join(map(str, left)), producer.transactional_id,
                "committed" if commit else "aborted",
            )  # fmt: skip
            ended += left
    if ended:
        _await_ends(network, ours, ended)
    return ended


def describe(network: Network, partitions: Collection[TopicPartition]) -> Iterator[ProducerState]:
    """What partitions know of producers; those that we may not ask about are left out."""
    for where, item in _asked(network, partitions):
        yield from _states(where, item)


def transactional_topics(network: Network, partitions: Collection[TopicPartition]) -> set[str]:
    """The topics that producers write to in transactions, and those that we may not ask about, which may be such."""
    return {
        where.topic
        for where, item in _asked(network, partitions)
        if item.error_code or any(state.is_transactional for state in _states(where, item))
    }


def _asked(network: Network, partitions: Collection[TopicPartition]) -> Iterator[tuple[TopicPartition, Any]]:
    topic_class = DescribeProducersRequest.TopicRequest
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic, number in partitions:
        by_leader.setdefault(network.leader(topic, number).broker_id, {}).setdefault(topic, []).append(number)
    for broker_id, by_topic in by_leader.items():
        connection = network.connection(broker_id)
        topics = [topic_class(name=topic, partition_indexes=numbers) for topic, numbers in by_topic.items()]
        answer = connection.call(DescribeProducersRequest(topics=topics), 0)
        for topic in answer.topics:
            for item in topic.partitions:
                yield TopicPartition(topic.name, item.partition_index), item


def _states(where: TopicPartition, item: Any) -> Iterator[ProducerState]:
    for found in item.active_producers:
        is_open = found.current_txn_start_offset >= 0
        is_transactional = is_open or found.coordinator_epoch >= 0  # the latter comes with the end of a transaction
        yield ProducerState(
            where, found.producer_id, found.producer_epoch, found.last_timestamp, is_open, is_transactional
        )


def _was_committed(network: Network, known: Sequence[ProducerState], epoch: int) -> bool:
    """How the transaction of an epoch ended where its end is known; nowhere: it can just as well be aborted.

    The end of a transaction carries the next epoch, and nothing has been written under that one yet.
    """
    for state in known:
        if state.epoch == epoch + 1 and not state.is_open:
            for batch in _batches_since(network, state.where, state.last_timestamp):
                header = batch.header
                if header.is_control and (header.producer_id, header.producer_epoch) == (state.producer_id, epoch + 1):
                    return control_type(batch.data) == _COMMIT
    return False


def _batches_since(network: Network, where: TopicPartition, time_ms: int) -> Iterator[LogBatch]:
    """All batches from a time on, committed or not."""
    start = max(reading.list_many(network, {where: time_ms})[where], 0)
    end = reading.list_many(network, {where: reading.LATEST})[where]
    span = {where.partition: start}, {where.partition: end}
    return reading.read_log(network.loop, network, where.topic, *span, isolation=READ_UNCOMMITTED)


def _await_ends(
    network: Network, ours: Mapping[int, TransactionalProducer], partitions: Collection[TopicPartition]
) -> None:
    patience = Patience(_PATIENCE_SECONDS)
    while late := [
        state
        for state in describe(network, partitions)
        if state.producer_id in ours and state.is_open and state.epoch < ours[state.producer_id].stamp.epoch
    ]:
        if not patience.wait():
            raise BrokerUnavailable(f"{network.access.alias} {late[0].where}: a transaction of ours does not end")
