"""Ends transactions of ours whose end did not reach all partitions.

A coordinator that tells partitions how a transaction has ended takes one without a leader at that moment for deleted,
and forgets it (seen with Kafka 4.3 when brokers are killed). Whoever reads committed records then waits there for
ever, and a later transaction of the same producer would end the old one along with itself, perhaps in the wrong way.
So before a partition is written to anew, its writer looks whether anything of the past is still open there, finds out
how that ended elsewhere, and ends it the same way.

Whether anything is open is told by two offsets of each partition, which are cheap to ask for and need only the right to
write. Only where they differ the partition is asked for its producers. How a transaction ended is told, in this order,

1. by the markers in other partitions that took part in it;
2. by the position that was committed with it: it lies behind the beginning of the transaction, or before it;
3. by a log in which every transaction of the flow writes: one that wrote nothing there was not committed.

Where none of them tells, nothing is ended: brokers forget producers after a day, so silence is no proof.

Coordinators of both generations forget in the same way. In the first, all transactions of a producer have the same
epoch, so markers cannot tell them apart: there only the position counts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka.protocol.admin.transactions import DescribeProducersRequest
from kafka.protocol.consumer import ListOffsetsRequest
from kafka.protocol.producer.transaction import WriteTxnMarkersRequest

from heliograph.errors import BrokerUnavailable, ClusterError
from heliograph.kafka.connection import Connection
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.kafka.network import LEADER_CHANGES, NOT_AUTHORISED, Network, check, error_name
from heliograph.kafka.patience import Patience
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.kafka.transaction_ends import how_it_ended, took_no_part, writer_at
from heliograph.model import TopicPartition

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 15.0
_LEADER_SECONDS = 5.0  # that a partition may take to get a leader
_MARKER_SECONDS = 2.0  # that markers may take to reach all partitions after a commit
_LATEST = -1
_DENIED = "something is open there, and we have no right to read the topic and thus to ask whose transaction it is"


class ProducerState(NamedTuple):
    """What a partition knows of a producer."""

    where: TopicPartition
    producer_id: int
    epoch: int
    last_timestamp: int
    is_open: bool  # it has written something whose end is not known there
    is_transactional: bool  # it writes, or has written, in transactions
    start: int  # where its open transaction begins
    coordinator_epoch: int


class Sweep(NamedTuple):
    """Where something was ended, and where that may still be needed, and why it is not done."""

    ended: list[TopicPartition]
    unreachable: dict[TopicPartition, str]


@dataclass(frozen=True)
class Background:
    """What is known of the past of those who write. All of it is asked for only if something is open."""

    former_ids: Callable[[], Collection[int]] = tuple
    """All producer ids that were ever ours: a transactional id gets another one after 32,767 epochs."""
    reached: Callable[[], Mapping[TopicPartition, int]] = dict
    """The last offset that is committed by the books; -1 for a partition that nothing was committed to."""
    told_all: TopicPartition | None = None
    """Where every transaction writes that is committed."""
    witnesses: Collection[TopicPartition] = ()
    """Partitions that the same transactions may have written to."""


_NOTHING = Background()


def end_leftovers(
    network: Network,
    producers: Sequence[TransactionalProducer],
    partitions: Collection[TopicPartition],
    background: Background = _NOTHING,
) -> Sweep:
    """End what is still open of the past of producers that have just been initialised.

    Partitions that have no leader are left out and told: whoever wants to write there has to put them aside.
    """
    suspects, unreachable = _unsettled(network, partitions)
    if not suspects:
        return Sweep([], unreachable)
    answers, late = _answers(network, suspects, _ask_producers)
    unreachable |= late
    unreachable |= dict.fromkeys(_still_hiding(network, _denied(answers)), _DENIED)
    found = [state for where, item in answers.items() for state in _states(where, item) if state.is_open]
    past = _Past(network, producers, background)
    left = past.left(found) if found else []
    if not left:
        return Sweep([], unreachable)
    others = (set(partitions) | set(background.witnesses)) - answers.keys() - unreachable.keys()
    more, late = _answers(network, others, _ask_producers)
    unreachable |= {where: reason for where, reason in late.items() if where in partitions}
    answers |= more
    unasked = {*unreachable, *late, *_denied(answers)}
    past.known = [state for where, item in answers.items() for state in _states(where, item)]
    past.unasked = sorted(unasked)
    sweep = Sweep([], unreachable)
    for producer_id, epoch in sorted({(state.producer_id, state.epoch) for state in left}):
        past.end([state for state in left if (state.producer_id, state.epoch) == (producer_id, epoch)], sweep)
    if sweep.ended:
        _await_ends(network, left, sweep.ended)
    return sweep


class _Past:
    """Transactions of ours that are open where their end was forgotten."""

    def __init__(self, network: Network, producers: Sequence[TransactionalProducer], background: Background) -> None:
        self.known: list[ProducerState] = []
        self.unasked: list[TopicPartition] = []
        self._network = network
        self._ours = {producer.stamp.producer_id: producer for producer in producers}
        self._has_own_epochs = any(producer.has_epoch_per_transaction for producer in producers)
        self._background = background

    def left(self, found: Sequence[ProducerState]) -> list[ProducerState]:
        """What of that was written under ids of ours before these producers were initialised."""
        former = set(self._background.former_ids()) - self._ours.keys()
        return [state for state in found if state.producer_id in former or self._is_of_ours(state)]

    def _is_of_ours(self, state: ProducerState) -> bool:
        producer = self._ours.get(state.producer_id)
        return producer is not None and state.epoch < producer.stamp.epoch

    def end(self, left: Sequence[ProducerState], sweep: Sweep) -> None:
        """End one transaction wherever it is open; in the first generation these may be several."""
        together = [left] if self._has_own_epochs else [[state] for state in left]
        for states in together:
            commit = self._how(states)
            where = [state.where for state in states]
            if commit is None:
                self._leave(sweep, dict.fromkeys(where, self._why_unknown()))
                continue
            refused = self._write_end(states, commit)
            self._leave(sweep, refused)
            ended = [one for one in where if one not in refused]
            if not ended:
                continue
            log.warning(
                "%s: %s had not heard of the end of a transaction of producer %d: %s now, as elsewhere",
                self._network.access.alias, ", ".join(map(str, ended)), states[0].producer_id,
                "committed" if commit else "aborted",
            )  # fmt: skip
            sweep.ended.extend(ended)

    def _leave(self, sweep: Sweep, reasons: Mapping[TopicPartition, str]) -> None:
        for where, reason in reasons.items():
            log.warning("%s: %s: %s", self._network.access.alias, where, reason)
        sweep.unreachable.update(reasons)

    def _how(self, left: Sequence[ProducerState]) -> bool | None:
        """Whether it was committed; None if nobody can tell."""
        commit = self._by_markers(left) if self._has_own_epochs else None
        if commit is None:
            commit = self._by_positions(left)
        if commit is None and self._has_own_epochs and not self.unasked and self._was_never_told(left):
            return False
        return commit

    def _by_markers(self, left: Sequence[ProducerState]) -> bool | None:
        producer_id, epoch = left[0].producer_id, left[0].epoch
        open_in = {state.where for state in left}
        known = [state for state in self.known if state.producer_id == producer_id and state.epoch >= epoch]
        witnesses = {state.where for state in known} - open_in
        told_all = self._background.told_all
        if told_all is not None and told_all not in open_in and told_all not in self.unasked:
            witnesses.add(told_all)  # also if the broker has forgotten the producer
        return how_it_ended(self._network, producer_id, epoch, witnesses)

    def _by_positions(self, left: Sequence[ProducerState]) -> bool | None:
        reached = self._background.reached()
        for state in left:
            offset = reached.get(state.where)
            if offset is None:
                continue
            if offset < state.start:
                return False
            # Somebody else may have copied the same records again behind it: then the position does not speak of it.
            if writer_at(self._network, state.where, offset) == (state.producer_id, state.epoch):
                return True
        return None

    def _was_never_told(self, left: Sequence[ProducerState]) -> bool:
        """What nobody knows the end of can just as well be aborted, if somebody had to know of it."""
        told_all = self._background.told_all
        if told_all is None:
            return True
        if told_all in {state.where for state in left}:
            return False
        return took_no_part(self._network, left[0].producer_id, left[0].epoch, told_all)

    def _why_unknown(self) -> str:
        if self.unasked:
            asked = ", ".join(map(str, self.unasked))
            return f"how a transaction of ours has ended may be known to only {asked}, where nobody can be asked"
        return "nothing tells any more how a transaction of ours has ended; kafka-transactions.sh can abort it"

    def _write_end(self, left: Sequence[ProducerState], commit: bool) -> dict[TopicPartition, str]:
        """Let partitions know the end; returns those that refuse it."""
        producer = self._ours.get(left[0].producer_id)
        if producer is not None:
            producer.end_elsewhere([state.where for state in left], commit)
            return {}
        return _write_markers(self._network, left, commit)


def _write_markers(network: Network, left: Sequence[ProducerState], commit: bool) -> dict[TopicPartition, str]:
    """Write the end of a producer that no coordinator knows any more, as kafka-transactions.sh does."""
    refused: dict[TopicPartition, str] = {}
    marker_class = WriteTxnMarkersRequest.WritableTxnMarker
    for state in left:
        topic = marker_class.WritableTxnMarkerTopic(name=state.where.topic, partition_indexes=[state.where.partition])
        marker = marker_class(
            producer_id=state.producer_id,
            producer_epoch=state.epoch,
            transaction_result=commit,
            topics=[topic],
            coordinator_epoch=max(state.coordinator_epoch, 0),
        )
        try:
            connection = network.connection(network.leader(*state.where).broker_id)
            answer = connection.call(WriteTxnMarkersRequest(markers=[marker]), 1)
            code = int(answer.markers[0].topics[0].partitions[0].error_code)
            check(f"{network.access.alias} {state.where}", code)
        except ClusterError as error:
            what = "commit" if commit else "abort"
            refused[state.where] = (
                f"a transaction of producer {state.producer_id}, which is ours no more, is open there from offset "
                f"{state.start} on, and we could not {what} it, which takes the right to alter the cluster: {error}"
            )
    return refused


def open_leftovers(
    network: Network, partitions: Collection[TopicPartition], ids: Callable[[], Collection[int]], seconds: float
) -> Sweep:
    """As `ended` where something is open of producers that write no more, after waiting for ends that are on their way.

    Partitions without a leader are waited for so many seconds.
    """
    suspects, unreachable = _unsettled(network, partitions, seconds)
    patience = Patience(_MARKER_SECONDS)
    ours: frozenset[int] | None = None
    left: list[TopicPartition] = []
    while suspects:
        ours = frozenset(ids()) if ours is None else ours
        answers, late = _answers(network, suspects, _ask_producers, seconds)
        unreachable |= late
        left = [
            where
            for where, item in answers.items()
            if any(s.is_open and s.producer_id in ours for s in _states(where, item))
        ]
        denied = _denied(answers)
        if not left and not denied:
            break
        if not patience.wait():
            unreachable |= dict.fromkeys(denied, _DENIED)
            break
        suspects, late = _unsettled(network, {*left, *denied}, seconds)
        unreachable |= late
        left = []
    return Sweep(left, unreachable)


def hiding(network: Network, partitions: Collection[TopicPartition]) -> set[TopicPartition]:
    """Those where something is open, whoever has written it, as far as they can be asked at once."""
    return _unsettled(network, partitions, 0)[0]


def _still_hiding(network: Network, denied: Collection[TopicPartition]) -> Collection[TopicPartition]:
    """Those where something stays open: others may just be committing."""
    patience = Patience(_MARKER_SECONDS)
    while denied and patience.wait():
        denied = _unsettled(network, denied)[0]
    return denied


def _unsettled(
    network: Network, partitions: Collection[TopicPartition], seconds: float | None = None
) -> tuple[set[TopicPartition], dict[TopicPartition, str]]:
    """Where records are hidden by transactions that are open, and which partitions say nothing, and why.

    What no consumer could see in any case, since too few replicas have it, does not count. What was forgotten is never
    among that: the partition has had a new leader since, who does not answer before all of it counts.
    """
    answers, late = _answers(network, partitions, _ask_ends, seconds)
    return {where for where, is_hiding in answers.items() if is_hiding}, late


def _denied(answers: Mapping[TopicPartition, Any]) -> set[TopicPartition]:
    return {where for where, item in answers.items() if item.error_code}


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
    answers, unreachable = _answers(network, partitions, _ask_producers)
    check_reached(network, unreachable, partitions)
    return answers


_Ask = Callable[[Network, int, Sequence[TopicPartition], dict[TopicPartition, Any], dict[TopicPartition, str]], None]


def _answers(
    network: Network, partitions: Collection[TopicPartition], ask: _Ask, seconds: float | None = None
) -> tuple[dict[TopicPartition, Any], dict[TopicPartition, str]]:
    """What each partition says, and which say nothing, and why: one request to each broker."""
    answers: dict[TopicPartition, Any] = {}
    patience = Patience(_LEADER_SECONDS if seconds is None else seconds)
    while True:
        late: dict[TopicPartition, str] = {}
        for broker_id, members in _by_leader(network, set(partitions) - answers.keys(), late).items():
            try:
                ask(network, broker_id, members, answers, late)
            except _BrokerLost as lost:
                late.update(dict.fromkeys(members, str(lost)))
        if not late or not patience.wait():
            return answers, late
        network.look_up({where.topic for where in late})


class _BrokerLost(Exception):
    """The broker that was asked is out of reach."""


@contextmanager
def _asking(network: Network, broker_id: int) -> Iterator[Connection]:
    connection: Connection | None = None
    try:
        connection = network.connection(broker_id)
        yield connection
    except BrokerUnavailable as error:
        if connection is not None and connection.is_open:
            raise  # another one was lost, which is not ours to deal with
        raise _BrokerLost(str(error)) from error


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


def _by_topic(members: Sequence[TopicPartition]) -> dict[str, list[int]]:
    by_topic: dict[str, list[int]] = {}
    for topic, number in members:
        by_topic.setdefault(topic, []).append(number)
    return by_topic


def _ask_ends(
    network: Network,
    broker_id: int,
    members: Sequence[TopicPartition],
    answers: dict[TopicPartition, Any],
    late: dict[TopicPartition, str],
) -> None:
    """Whether the last stable offset lies before the end; first the end is asked for, which grows meanwhile."""
    ends, stable = (_latest(network, broker_id, members, isolation) for isolation in (READ_UNCOMMITTED, READ_COMMITTED))
    for where in members:
        codes = {ends[where][0], stable[where][0]} - {0}
        if moved := codes & LEADER_CHANGES:
            late[where] = error_name(min(moved))
            continue
        for code in codes - {NOT_AUTHORISED}:
            check(f"{network.access.alias} {where}", code)
        answers[where] = bool(codes) or stable[where][1] < ends[where][1]


def _latest(
    network: Network, broker_id: int, members: Sequence[TopicPartition], isolation: int
) -> dict[TopicPartition, tuple[int, int]]:
    """For each partition an error code and the offset where it ends."""
    topic_class = ListOffsetsRequest.ListOffsetsTopic
    wanted = topic_class.ListOffsetsPartition
    topics = [
        topic_class(
            name=topic,
            partitions=[
                wanted(partition_index=number, current_leader_epoch=-1, timestamp=_LATEST) for number in numbers
            ],
        )
        for topic, numbers in _by_topic(members).items()
    ]
    with _asking(network, broker_id) as connection:
        version = connection.version(ListOffsetsRequest, highest=7, lowest=2)
        answer = connection.call(ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics), version)
    return {
        TopicPartition(topic.name, item.partition_index): (int(item.error_code), int(item.offset))
        for topic in answer.topics
        for item in topic.partitions
    }


def _ask_producers(
    network: Network,
    broker_id: int,
    members: Sequence[TopicPartition],
    answers: dict[TopicPartition, Any],
    late: dict[TopicPartition, str],
) -> None:
    """What each partition says of its producers, or that we may not ask: that takes the right to read the topic."""
    topic_class = DescribeProducersRequest.TopicRequest
    topics = [topic_class(name=topic, partition_indexes=numbers) for topic, numbers in _by_topic(members).items()]
    with _asking(network, broker_id) as connection:
        answer = connection.call(DescribeProducersRequest(topics=topics), 0)
    for topic in answer.topics:
        for item in topic.partitions:
            where = TopicPartition(topic.name, item.partition_index)
            if item.error_code in LEADER_CHANGES:
                late[where] = error_name(item.error_code)
                continue
            if item.error_code != NOT_AUTHORISED:
                check(f"{network.access.alias} {where}", item.error_code)
            answers[where] = item


def _states(where: TopicPartition, item: Any) -> Iterator[ProducerState]:
    for found in item.active_producers:
        is_open = found.current_txn_start_offset >= 0
        is_transactional = is_open or found.coordinator_epoch >= 0  # the latter comes with the end of a transaction
        yield ProducerState(
            where,
            found.producer_id,
            found.producer_epoch,
            found.last_timestamp,
            is_open,
            is_transactional,
            found.current_txn_start_offset,
            found.coordinator_epoch,
        )


def _await_ends(network: Network, left: Sequence[ProducerState], partitions: Collection[TopicPartition]) -> None:
    begun = {(state.where, state.producer_id, state.start) for state in left}
    patience = Patience(_PATIENCE_SECONDS)
    while late := [
        state
        for state in describe(network, partitions)
        if state.is_open and (state.where, state.producer_id, state.start) in begun
    ]:
        if not patience.wait():
            raise BrokerUnavailable(f"{network.access.alias} {late[0].where}: a transaction of ours does not end")
