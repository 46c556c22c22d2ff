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
from heliograph.kafka.connection import Connection
from heliograph.kafka.network import LEADER_CHANGES, Network, check, error_name
from heliograph.kafka.patience import Patience
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.kafka.transaction_ends import how_it_ended
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 15.0
_LEADER_SECONDS = 5.0  # that a partition may take to get a leader
_TOPIC_DENIED = 29


class ProducerState(NamedTuple):
    """What a partition knows of a producer."""

    where: TopicPartition
    producer_id: int
    epoch: int
    last_timestamp: int
    is_open: bool  # it has written something whose end is not known there
    is_transactional: bool  # it writes, or has written, in transactions


class Sweep(NamedTuple):
    """Where something was ended, and where that may still be needed, and why it is not done."""

    ended: list[TopicPartition]
    unreachable: dict[TopicPartition, str]


def end_leftovers(
    network: Network, producers: Sequence[TransactionalProducer], partitions: Collection[TopicPartition]
) -> Sweep:
    """End what is still open of the past of producers that have just been initialised.

    Partitions that have no leader are left out and told: whoever wants to write there has to put them aside.
    """
    ours = {producer.stamp.producer_id: producer for producer in producers if producer.has_epoch_per_transaction}
    if not ours:
        return Sweep([], {})
    answers, unreachable = _answers(network, partitions)
    states = [state for where, item in answers.items() for state in _states(where, item)]
    sweep = Sweep([], dict(unreachable))
    for producer_id, producer in ours.items():
        known = [state for state in states if state.producer_id == producer_id]
        _end_leftovers_of(network, producer, known, sweep, list(unreachable))
    if sweep.ended:
        _await_ends(network, ours, sweep.ended)
    return sweep


def _end_leftovers_of(
    network: Network,
    producer: TransactionalProducer,
    known: Sequence[ProducerState],
    sweep: Sweep,
    unasked: Sequence[TopicPartition],
) -> None:
    open_ones = [state for state in known if state.is_open and state.epoch < producer.stamp.epoch]
    for epoch in sorted({state.epoch for state in open_ones}):
        left = [state.where for state in open_ones if state.epoch == epoch]
        witnesses = [state.where for state in known if state.where not in left and state.epoch >= epoch]
        commit = how_it_ended(network, producer.stamp.producer_id, epoch, witnesses)
        if commit is None and unasked:
            asked = ", ".join(map(str, unasked))
            reason = f"how a transaction of ours has ended may be known to only {asked}, where nobody can be asked"
            sweep.unreachable.update(dict.fromkeys(left, reason))
            continue
        producer.end_elsewhere(left, bool(commit))  # what nobody knows the end of can just as well be aborted
        log.warning(
            "%s: %s had not heard of the end of transaction %s: %s now, as elsewhere",
            network.access.alias, ", ".join(map(str, left)), producer.transactional_id,
            "committed" if commit else "aborted",
        )  # fmt: skip
        sweep.ended.extend(left)


def check_reached(
    network: Network, unreachable: Mapping[TopicPartition, str], needed: Collection[TopicPartition]
) -> None:
    """Raise if one of the partitions that somebody cannot do without could not be reached."""
    for where, reason in unreachable.items():
        if where in needed:
            raise BrokerUnavailable(f"{network.access.alias} {where}: {reason}")


def describe(network: Network, partitions: Collection[TopicPartition]) -> Iterator[ProducerState]:
    """What partitions know of producers; those that we may not ask about are left out."""
    for where, item in _all_answers(network, partitions).items():
        yield from _states(where, item)


def transactional_topics(network: Network, partitions: Collection[TopicPartition]) -> set[str]:
    """The topics that producers write to in transactions, and those that we may not ask about, which may be such."""
    return {
        where.topic
        for where, item in _all_answers(network, partitions).items()
        if item.error_code or any(state.is_transactional for state in _states(where, item))
    }


def _all_answers(network: Network, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Any]:
    answers, unreachable = _answers(network, partitions)
    check_reached(network, unreachable, partitions)
    return answers


def _answers(
    network: Network, partitions: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, Any], dict[TopicPartition, str]]:
    """What each partition says of its producers, and which say nothing, and why.

    That we may not ask is an answer too: the right to read a topic is needed for it, and writing needs none.
    """
    answers: dict[TopicPartition, Any] = {}
    patience = Patience(_LEADER_SECONDS)
    while True:
        late: dict[TopicPartition, str] = {}
        for broker_id, members in _by_leader(network, set(partitions) - answers.keys(), late).items():
            _ask(network, broker_id, members, answers, late)
        if not late or not patience.wait():
            return answers, late
        network.look_up({where.topic for where in late})


def _by_leader(
    network: Network, wanted: Collection[TopicPartition], late: dict[TopicPartition, str]
) -> dict[int, list[TopicPartition]]:
    found: dict[int, list[TopicPartition]] = {}
    for where in sorted(wanted):
        try:
            found.setdefault(network.leader(*where).broker_id, []).append(where)
        except BrokerUnavailable:
            late[where] = "has no leader"
    return found


def _ask(
    network: Network,
    broker_id: int,
    members: Sequence[TopicPartition],
    answers: dict[TopicPartition, Any],
    late: dict[TopicPartition, str],
) -> None:
    """One request; partitions that are moving, or whose broker is lost, are late."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in members:
        by_topic.setdefault(topic, []).append(number)
    topic_class = DescribeProducersRequest.TopicRequest
    topics = [topic_class(name=topic, partition_indexes=numbers) for topic, numbers in by_topic.items()]
    connection: Connection | None = None
    try:
        connection = network.connection(broker_id)
        answer = connection.call(DescribeProducersRequest(topics=topics), 0)
    except BrokerUnavailable as error:
        if connection is not None and connection.is_open:
            raise  # another one was lost, which is not ours to deal with
        late.update(dict.fromkeys(members, str(error)))
        return
    for topic in answer.topics:
        for item in topic.partitions:
            where = TopicPartition(topic.name, item.partition_index)
            if item.error_code in LEADER_CHANGES:
                late[where] = error_name(item.error_code)
                continue
            if item.error_code != _TOPIC_DENIED:
                check(f"{network.access.alias} {where}", item.error_code)
            answers[where] = item


def _states(where: TopicPartition, item: Any) -> Iterator[ProducerState]:
    for found in item.active_producers:
        is_open = found.current_txn_start_offset >= 0
        is_transactional = is_open or found.coordinator_epoch >= 0  # the latter comes with the end of a transaction
        yield ProducerState(
            where, found.producer_id, found.producer_epoch, found.last_timestamp, is_open, is_transactional
        )


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
