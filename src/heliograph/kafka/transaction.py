"""A transactional producer's life: fence the predecessor, join partitions, commit or abort.

Brokers know two generations of transactions. In the first, a producer asks the coordinator to join partitions before it
writes to them. In the second (clusters with `transaction.version` 2), writing joins them, which saves a question, and
the end of each transaction gives the producer a new epoch, under which sequence numbers begin again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import NamedTuple, Protocol

from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)

from heliograph.errors import BrokerRefused, BrokerUnavailable, ClusterError, Fenced
from heliograph.kafka import endings, producing
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.connection import Connection
from heliograph.kafka.endings import Endings
from heliograph.kafka.network import TRANSACTION, Network, check, error_name
from heliograph.kafka.patience import Patience
from heliograph.model import TopicPartition


class _Code(Enum):
    """The broker's answers that mean something special here."""

    COORDINATOR_LOADING = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_PRODUCER_EPOCH = 47
    CONCURRENT_TRANSACTIONS = 51
    PRODUCER_FENCED = 90


_SECOND_GENERATION = 2
_WAIT = {
    _Code.COORDINATOR_LOADING.value,
    _Code.COORDINATOR_NOT_AVAILABLE.value,
    _Code.NOT_COORDINATOR.value,
    _Code.CONCURRENT_TRANSACTIONS.value,
}
_LARGEST_SEQUENCE = 0x7FFFFFFF
_FENCED = {_Code.INVALID_PRODUCER_EPOCH.value, _Code.PRODUCER_FENCED.value}


def check_fenced(where: str, error_code: int) -> None:
    """Raise if the broker says that somebody else writes under our transactional id by now."""
    if error_code in _FENCED:
        raise Fenced(f"{where}: another mirror has taken over ({error_name(error_code)})")


class Sequences:
    """The next sequence number for each partition; they wrap around as brokers expect."""

    def __init__(self) -> None:
        self._next: dict[TopicPartition, int] = {}

    def take(self, where: TopicPartition, record_count: int) -> int:
        """The sequence number of the next batch, which has so many records."""
        sequence = self._next.get(where, 0)
        self._next[where] = (sequence + record_count) & _LARGEST_SEQUENCE
        return sequence

    def restart(self) -> None:
        """Begin at 0 again, as a new epoch does."""
        self._next.clear()


class Producer(Protocol):
    """What a lane needs of whoever writes for it."""

    transactional_id: str | None
    stamp: ProducerStamp
    sequences: Sequences
    produce_version: int  # the newest version of requests to send
    joined: set[TopicPartition]

    @property
    def has_rested(self) -> bool:
        """Whether its last transaction was ended so long ago that others may have left it alone since."""

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Make partitions part of the current transaction, before anything is written to them."""

    def begin_end(self, commit: bool) -> None:
        """Begin to commit or abort the current transaction."""

    def has_ended(self) -> bool:
        """Whether what `begin_end` began is done; raises when it cannot be."""


class IdempotentProducer:
    """Writes without transactions: at least once. Brokers still refuse what arrives twice or out of order."""

    produce_version = producing.HIGHEST_VERSION
    has_rested = False

    def __init__(self, network: Network) -> None:
        self.transactional_id: str | None = None
        self.sequences = Sequences()
        connection = network.anyone()
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=0, producer_id=-1, producer_epoch=-1
        )
        answer = connection.call(request, connection.version(InitProducerIdRequest, highest=4))
        check(f"{network.access.alias}: cannot get a producer id", answer.error_code)
        self.stamp = ProducerStamp(answer.producer_id, answer.producer_epoch, is_transactional=False)
        self.joined: set[TopicPartition] = set()

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Remember that something was written since the last end."""
        self.joined |= set(partitions)

    def begin_end(self, commit: bool) -> None:
        """Nothing to do: what was acknowledged is there."""
        self.joined = set()

    def has_ended(self) -> bool:
        """At once."""
        return True


class PlainProducer:
    """Writes without transactions, under the producer id of a transactional id: whoever takes that over locks it out.

    Sequence numbers go on for as long as it lives. Nothing is ever sent again: an outcome that is not known ends it.
    """

    produce_version = producing.HIGHEST_VERSION
    has_rested = False

    def __init__(self, name: str, stamp: ProducerStamp) -> None:
        self.name = name
        self.transactional_id: str | None = None
        self.stamp = replace(stamp, is_transactional=False)
        self.sequences = Sequences()
        self.joined: set[TopicPartition] = set()

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Nothing to do: there is no transaction."""

    def begin_end(self, commit: bool) -> None:
        """Nothing to do: what was acknowledged is there."""

    def has_ended(self) -> bool:
        """At once."""
        return True


class TransactionalProducer:
    """One transactional id. Creating it ends what a predecessor with the same id left open, and locks it out."""

    def __init__(self, network: Network, transactional_id: str, timeout_ms: int, taken: _Taken | None = None) -> None:
        """`taken`: what the coordinator has answered already."""
        self.transactional_id: str | None = transactional_id
        self._name = transactional_id
        self._network = network
        self._coordinator, self.stamp = taken or _take(network, [transactional_id], timeout_ms)[transactional_id]
        self._joins_by_writing = self._coordinator.feature("transaction.version") >= _SECOND_GENERATION
        self.produce_version = producing.JOINING_VERSION if self._joins_by_writing else producing.HIGHEST_VERSION
        self.sequences = Sequences()
        self.joined: set[TopicPartition] = set()
        self._ended_at = math.inf

    @property
    def has_rested(self) -> bool:
        """Whether its last transaction was ended so long ago that others may have left it alone since."""
        return endings.now() - self._ended_at > endings.TRUSTED_SECONDS

    def join(self, partitions: Collection[TopicPartition]) -> None:
        """Make partitions part of the current transaction, before anything is written to them."""
        missing = set(partitions) - self.joined
        if missing and not self._joins_by_writing:
            self._join(missing)
        self.joined |= missing

    def _join(self, missing: Collection[TopicPartition]) -> None:
        topics: dict[str, list[int]] = {}
        for topic, partition in missing:
            topics.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.stamp.producer_id,
            v3_and_below_producer_epoch=self.stamp.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=numbers)
                for topic, numbers in topics.items()
            ],
        )
        self._ask("join", lambda: self._join_answer(request))

    def end(self, commit: bool) -> None:
        """Commit or abort the current transaction, and wait until the coordinator has it on record."""
        if self.joined:
            self.begin_end(commit)
            self._network.loop.run_until(self.has_ended)

    @property
    def has_epoch_per_transaction(self) -> bool:
        """Whether every transaction has an epoch of its own, as in the second generation."""
        return self._joins_by_writing

    def end_elsewhere(self, partitions: Collection[TopicPartition], commit: bool) -> None:
        """Let partitions know the end of an earlier transaction, by an empty one of the first generation."""
        self._join(partitions)
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.stamp.producer_id,
            producer_epoch=self.stamp.epoch,
            committed=commit,
        )
        version = self._coordinator.version(EndTxnRequest, highest=3)
        self._ask("end", lambda: int(self._coordinator.call(request, version).error_code))

    def begin_end(self, commit: bool) -> None:
        """Ask the coordinator to commit or abort the current transaction."""
        self._ending = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.stamp.producer_id,
            producer_epoch=self.stamp.epoch,
            committed=commit,
        )
        self._ended_at = endings.now()
        self._ended: list[EndTxnResponse] = []
        self._end_losses: list[ClusterError] = []
        self._coordinator.submit(self._ending, self._end_version, self._ended.append, on_lost=self._end_losses.append)

    def has_ended(self) -> bool:
        """Whether the coordinator has put the end on record; waits only if it was not ready to."""
        if self._end_losses:
            raise self._end_losses[0]
        if not self._ended:
            return False
        if self._ended[-1].error_code:
            self._ask("commit" if self._ending.committed else "abort", self._end_again)
        self.joined = set()
        if self._joins_by_writing:
            self.stamp = _stamp(self._ended[-1])
            self.sequences.restart()
        return True

    def _end_again(self) -> int:
        self._ended.append(self._coordinator.call(self._ending, self._end_version))
        return int(self._ended[-1].error_code)

    @property
    def _end_version(self) -> int:
        return self._coordinator.version(EndTxnRequest, highest=5 if self._joins_by_writing else 3)

    def _join_answer(self, request: AddPartitionsToTxnRequest) -> int:
        version = self._coordinator.version(AddPartitionsToTxnRequest, highest=3)
        response = self._coordinator.call(request, version)
        codes = {
            result.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }
        # One refused partition marks the others as "operation not attempted" (55); the real reason is the other code.
        reasons = codes - {0, 55} or codes - {0}
        return int(next(iter(reasons), 0))

    def _ask(self, what: str, question: Callable[[], int]) -> None:
        """Ask until the coordinator is ready to answer; every other error ends the attempt."""
        patience = Patience()
        while code := question():
            where = _where(self._network, self._name, what)
            _check_can_wait(where, code)
            if not patience.wait():
                raise BrokerUnavailable(f"{where}: {error_name(code)} for {patience.seconds:.0f} s")
            if code == _Code.NOT_COORDINATOR.value:
                self._coordinator = self._network.coordinator(self._name, TRANSACTION)


def take_all(network: Network, names: Sequence[str], timeout_ms: int) -> list[TransactionalProducer]:
    """A producer for each transactional id, initialised all at once: one after the other takes long over a far link."""
    taken = _take(network, names, timeout_ms)
    return [TransactionalProducer(network, name, timeout_ms, taken[name]) for name in names]


def take_usable(
    network: Network, names: Sequence[str], timeout_ms: int, left: Endings, needed: Collection[TopicPartition]
) -> list[TransactionalProducer]:
    """The same, but ids are left alone whose last transaction is decided, and only cannot be told to some partitions.

    Only for whoever has taken the gates of all who may have these ids. The needed partitions must know of all ends.
    """
    left.begin()
    taken = _take(network, names, timeout_ms, lambda busy: left.leave(network, busy, needed))
    left.keep(set(names) - taken.keys())
    return [TransactionalProducer(network, name, timeout_ms, taken[name]) for name in names if name in taken]


class Gate:
    """An id under which nothing is written: whoever takes it locks out those who had it before."""

    def __init__(self, network: Network, name: str, timeout_ms: int) -> None:
        self._network = network
        self._name = name
        self._timeout_ms = timeout_ms
        taken = _take(network, [name], timeout_ms)[name]
        self._coordinator, self._stamp = taken
        self._answers: list[InitProducerIdResponse] = []

    def begin_check(self) -> None:
        """Begin to ask whether it is still ours."""
        self._answers.clear()
        self._losses: list[ClusterError] = []
        request = InitProducerIdRequest(
            transactional_id=self._name,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=self._stamp.producer_id,
            producer_epoch=self._stamp.epoch,
        )
        version = self._coordinator.version(InitProducerIdRequest, highest=4, lowest=3)
        self._coordinator.submit(request, version, self._answers.append, on_lost=self._losses.append)

    def is_ours(self) -> bool:
        """Whether that is known by now; raises if it is not ours any more, or cannot be asked for."""
        if self._losses:
            raise self._losses[0]
        if not self._answers:
            return False
        where = _where(self._network, self._name, "be sure of it")
        if code := int(self._answers[0].error_code):
            _check_can_wait(where, code)
            raise BrokerUnavailable(f"{where}: {error_name(code)}")
        self._stamp = _stamp(self._answers[0])
        return True

    def check(self) -> None:
        """Raise unless it is still ours."""
        self.begin_check()
        self._network.loop.run_until(self.is_ours, f"{self._network.access.alias} to tell who has the gate")


def end_prepared(network: Network, name: str, stamp: ProducerStamp, commit: bool) -> None:
    """End a transaction that another process has filled and left open. Brokers take the same end twice."""
    taken = _Taken(network.coordinator(name, TRANSACTION), stamp)
    producer = TransactionalProducer(network, name, 0, taken)
    producer.begin_end(commit)
    network.loop.run_until(producer.has_ended)


class _Taken(NamedTuple):
    """A transactional id that is ours."""

    coordinator: Connection
    stamp: ProducerStamp


def _take(
    network: Network, names: Collection[str], timeout_ms: int, leave: Callable[[set[str]], bool] = lambda _: False
) -> dict[str, _Taken]:
    """Ask for all ids until their coordinators are ready to answer; every other error ends the attempt.

    Once all others are taken, `leave` tells whether those that are busy may be left out.
    """
    coordinators = network.coordinators(names, TRANSACTION)
    taken: dict[str, _Taken] = {}
    patience = Patience()
    while missing := [name for name in names if name not in taken]:
        answers = _initialise(network, {name: coordinators[name] for name in missing}, timeout_ms)
        codes = {name: int(answer.error_code) for name, answer in answers.items() if answer.error_code}
        for name in missing:
            if name in codes:
                _check_can_wait(_where(network, name, "initialise"), codes[name])
            else:
                taken[name] = _Taken(coordinators[name], _stamp(answers[name]))
        if codes and set(codes.values()) == {_Code.CONCURRENT_TRANSACTIONS.value} and leave(set(codes)):
            return taken
        if codes and not patience.wait():
            name, code = next(iter(codes.items()))
            where = _where(network, name, "initialise")
            raise BrokerUnavailable(f"{where}: {error_name(code)} for {patience.seconds:.0f} s")
        moved = [name for name, code in codes.items() if code == _Code.NOT_COORDINATOR.value]
        coordinators |= network.coordinators(moved, TRANSACTION)
    return taken


def _initialise(
    network: Network, coordinators: Mapping[str, Connection], timeout_ms: int
) -> dict[str, InitProducerIdResponse]:
    """One request for each id, of which none waits for the answer to another."""
    answers: dict[str, InitProducerIdResponse] = {}
    for name, coordinator in coordinators.items():
        request = InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=timeout_ms, producer_id=-1, producer_epoch=-1
        )
        version = coordinator.version(InitProducerIdRequest, highest=4)
        coordinator.submit(request, version, partial(answers.__setitem__, name))
    awaited = f"{network.access.alias} to initialise transactional ids"
    network.loop.run_until(lambda: len(answers) == len(coordinators), awaited)
    return answers


def _where(network: Network, name: str, what: str) -> str:
    return f"{network.access.alias} transaction {name}: cannot {what}"


def _check_can_wait(where: str, code: int) -> None:
    """Raise unless an answer means that the coordinator may be ready in a moment."""
    check_fenced(where, code)
    if code not in _WAIT:
        raise BrokerRefused(where, code, error_name(code))


def _stamp(answer: InitProducerIdResponse | EndTxnResponse) -> ProducerStamp:
    return ProducerStamp(answer.producer_id, answer.producer_epoch, is_transactional=True)
