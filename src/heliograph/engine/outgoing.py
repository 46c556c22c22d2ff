"""The target side of a lane: batches queued per partition, sent one per partition and request, many requests deep."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from heliograph.engine.links import Links
from heliograph.engine.trials import REFUSED
from heliograph.engine.window import Window
from heliograph.errors import (
    BrokerRefused,
    ClusterError,
    MalformedRecord,
    PartitionFailed,
    PartitionsWait,
    TargetCutBack,
)
from heliograph.kafka import batches, producing, records
from heliograph.kafka.connection import Buffer, LossHandler
from heliograph.kafka.network import Network, error_name
from heliograph.kafka.producing import Appended, Batch
from heliograph.kafka.transaction import Producer, check_fenced
from heliograph.model import TopicPartition

_MAX_REQUEST_BYTES = 1024 * 1024
_MAX_IN_FLIGHT = 8  # requests; more where that is less than what a fast link holds within a round trip
_FAST_LINK = 125_000_000  # bytes per second
# Batches that leave as they are keep the buffer that they came in, of which there are few. Those that were built anew
# keep none, so nothing else would stop a lane from reading more of them than a slow target takes.
_MOST_REBUILT_BYTES = 32 * 1024 * 1024
_ALL_REPLICAS = -1
# Answers that speak of what is written, not of the broker: message too large, record list too large, not authorised for
# the topic, timestamp out of range, message format or compression that the topic does not have, invalid record.
_INVALID_TIMESTAMP = 32
_CONCERNS_PARTITION = {10, 18, 29, _INVALID_TIMESTAMP, 43, 76, 87}
_CONCERNS_TOPIC = {29}
# Answers that speak of who writes, and end the attempt: its coordinator (14 to 16), its rights (31, 53), its sequence
# (45, 46), its epoch (47, 90), its transaction or id (48, 49, 51, 52, 55, 59, 67, 120). All others may be others in a
# moment, such as that a partition has no leader or too few replicas; if not, the partition is set aside.
_CONCERNS_PRODUCER = {14, 15, 16, 31, 45, 46, 47, 48, 49, 51, 52, 53, 55, 59, 67, 90, 120}
_MAY_BE_UNREADABLE = {-1, 2}  # an error of the broker's own, a corrupt message

OnAppended = Callable[[int], None]


class Queued(NamedTuple):
    """A batch that waits for its turn; `on_appended` gets its base offset on the target."""

    data: Buffer
    on_appended: OnAppended
    source: TopicPartition
    is_rebuilt: bool = False  # in memory of its own, not in that of a fetch response
    pieces: Sequence[tuple[int, int]] = ()  # source offset and length of each row of consecutive records
    leader_epoch: int = -1  # of the source, under which the last record was read

    @property
    def runs(self) -> int:
        """Of consecutive records, at most: each is told in the ledger."""
        return max(1, len(self.pieces))


@dataclass(eq=False)
class TargetPartition:
    """One partition of the target: where it is led, and what waits for it."""

    name: TopicPartition
    broker_id: int
    queue: deque[Queued] = field(default_factory=deque)
    topic_id: str = ""  # empty where the cluster gives topics none
    held: deque[Queued] = field(default_factory=deque)  # by the gate: what must not leave yet
    in_flight: deque[int] = field(default_factory=deque)  # with a gate: the newest time in each batch on its way
    acknowledged: Acknowledged | None = None  # with a gate: the newest batch


class Acknowledged(NamedTuple):
    """What a target partition has taken last."""

    next_sequence: int
    newest_ms: int  # time of a record in it


class Gate(Protocol):
    """Decides when batches may leave that no transaction protects."""

    @property
    def is_open(self) -> bool:
        """Whether anything may leave now."""

    def admit(self, target: TargetPartition, batch: Queued) -> bool:
        """Take note of a batch that is queued; whether it may leave when it is its turn, or is held until released."""

    def may_follow(self, target: TargetPartition) -> bool:
        """Whether another batch may leave while some of the same partition are on their way."""

    def sent(self, size: int) -> None:
        """So many bytes are on their way."""


class _Request(NamedTuple):
    """Data on its way to a broker."""

    size: int
    outstanding: int  # bytes that were unanswered when it left, its own among them
    sent_at: float
    most: int  # bytes that are worth trying, on a fast link


class Outgoing:
    """Sends batches to all brokers of the target, in order per partition.

    A batch gets its producer's stamp as it leaves: what waits may belong to the next transaction, and another producer.
    """

    def __init__(
        self,
        network: Network,
        producer: Producer,
        on_failure: LossHandler | None = None,
        most_runs: float = math.inf,
        links: Links | None = None,
        gate: Gate | None = None,
    ) -> None:
        """`on_failure` is told what was refused or lost; without it that is raised where the loop runs.

        `most_runs` may be sent between two calls of `turn_to`. `links`: what is known of the brokers.
        """
        self.producer = producer
        self._most_runs = most_runs
        self._sent_runs = self._waiting_runs = 0
        self._must_turn = False  # whether the next batch has more of them than may still be sent
        self._gate = gate
        self._held = 0  # batches
        self._on_failure = on_failure
        self._network = network
        self._partitions: dict[TopicPartition, TargetPartition] = {}
        self._ready: dict[int, dict[TopicPartition, TargetPartition]] = {}
        self._in_flight: dict[int, deque[_Request]] = {}  # to each broker, which answers in order
        self._unanswered: Counter[int] = Counter()  # bytes of them
        self._links = links or Links()
        self._not_before: dict[int, float] = {}
        self._rebuilt_bytes = 0  # queued or on their way

    def partition(self, name: TopicPartition) -> TargetPartition:
        """The state of one target partition."""
        found = self._partitions.get(name)
        if found is None:
            leader, topic_id = self._network.leader(*name), self._network.incarnation(name.topic)
            found = TargetPartition(name, leader.broker_id, topic_id=topic_id)
            self._partitions[name] = found
        return found

    def turn_to(self, producer: Producer) -> None:
        """Send the rest under another producer, in its transaction."""
        self.producer = producer
        self._sent_runs = 0
        self._must_turn = False

    def put(self, target: TargetPartition, batch: Queued) -> None:
        """Queue a batch."""
        self._rebuilt_bytes += _rebuilt_size(batch)
        self._waiting_runs += batch.runs
        if self._gate is not None and not self._gate.admit(target, batch):
            target.held.append(batch)
            self._held += 1
            return
        target.queue.append(batch)
        self._make_ready(target)

    def release(self, target: TargetPartition, count: int) -> None:
        """Let the oldest of the batches leave that the gate has held."""
        self._held -= count
        for _ in range(count):
            target.queue.append(target.held.popleft())
        self._make_ready(target)

    def _make_ready(self, target: TargetPartition) -> None:
        if target.queue and self._may_follow(target):
            self._ready.setdefault(target.broker_id, {})[target.name] = target

    def _may_follow(self, target: TargetPartition) -> bool:
        return self._gate is None or not target.in_flight or self._gate.may_follow(target)

    @property
    def is_idle(self) -> bool:
        """Whether no data waits and none is in flight."""
        return not self._in_flight and not self._ready and not self._held

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be appended that nothing more should be read."""
        return self._rebuilt_bytes > _MOST_REBUILT_BYTES or self._sent_runs + self._waiting_runs > self._most_runs

    @property
    def has_sent_enough(self) -> bool:
        """Whether what waits has to wait for the next transaction: no more fits into the ledger entry of this one."""
        return self._must_turn or self._sent_runs >= self._most_runs

    @property
    def has_in_flight(self) -> bool:
        """Whether answers about data are awaited."""
        return bool(self._in_flight)

    @property
    def unanswered_since(self) -> float:
        """When the oldest data left that is not answered yet; infinity if there is none."""
        return min((requests[0].sent_at for requests in self._in_flight.values()), default=math.inf)

    def unjoined(self) -> dict[TopicPartition, TargetPartition]:
        """Partitions that batches wait for, and that are not part of the transaction yet.

        Asked at every turn, and there is seldom one: so first a comparison that makes nothing.
        """
        joined = self.producer.joined
        news = [ready for ready in self._ready.values() if not joined.issuperset(ready)]
        return {name: target for ready in news for name, target in ready.items() if name not in joined}

    def pump(self, is_last: bool = False) -> None:
        """Send what the brokers may take now; with the last of a transaction also what are too many runs for one."""
        if self._ready and self._gate is not None and not self._gate.is_open:
            return
        most_runs = math.inf if is_last else self._most_runs
        now = time.monotonic()
        for broker_id in list(self._ready):
            if now < self._not_before.get(broker_id, 0.0):
                continue
            while (ready := self._ready.get(broker_id)) and self._has_room(broker_id):
                if self._sent_runs and self._sent_runs + next(iter(ready.values())).queue[0].runs > most_runs:
                    self._must_turn = True
                    return
                self._send_request(broker_id, most_runs)

    def give_up(self) -> None:
        """No answer is awaited any more: who waited for long in vain gets less from now on."""
        now = time.monotonic()
        for broker_id, requests in self._in_flight.items():
            self._window(broker_id).given_up(now - requests[0].sent_at)

    def _has_room(self, broker_id: int) -> bool:
        """Whether another request may be on its way.

        A far broker answers late, so that small ones must be many. But what ends a transaction goes the same way as the
        data of the next one, so that a slow link must never hold much.
        """
        requests = self._in_flight.get(broker_id)
        if not requests:
            return True
        size = self._unanswered[broker_id]
        if size >= self._window(broker_id).size:
            return False
        return len(requests) < _MAX_IN_FLIGHT or size < self._fast_bytes(broker_id)

    def _fast_bytes(self, broker_id: int) -> int:
        """What a fast link holds within a round trip."""
        return int(self._network.connection(broker_id).round_trip * _FAST_LINK)

    def _window(self, broker_id: int) -> Window:
        return self._links.window(broker_id)

    def send_now(self, chosen: Mapping[TargetPartition, Buffer], on_written: Callable[[], None]) -> None:
        """Send one batch to each of these partitions past all queues: what ends a transaction."""
        by_broker: dict[int, list[TargetPartition]] = {}
        for target in chosen:
            by_broker.setdefault(target.broker_id, []).append(target)
        unanswered = set(by_broker)

        def answered(broker_id: int) -> None:
            unanswered.discard(broker_id)
            if not unanswered:
                on_written()

        for broker_id, targets in by_broker.items():
            stamped = [self._stamped(target.name, chosen[target]) for target in targets]
            self._submit(broker_id, stamped, {}, answered)

    def _send_request(self, broker_id: int, most_runs: float) -> None:
        fast = self._fast_bytes(broker_id)  # first: nothing is on its way to a broker that cannot be reached
        ready = self._ready[broker_id]
        chosen: list[Batch] = []
        taken: dict[TopicPartition, Queued] = {}
        size = 0
        most = min(_MAX_REQUEST_BYTES, self._window(broker_id).size)
        for name in list(ready):
            target = ready[name]
            runs = target.queue[0].runs
            if chosen and (size + len(target.queue[0].data) > most or self._sent_runs + runs > most_runs):
                break
            self._sent_runs += runs
            self._waiting_runs -= runs
            batch = taken[name] = target.queue.popleft()
            chosen.append(self._stamped(name, batch.data))
            size += len(batch.data)
            del ready[name]
            if self._gate is not None:
                target.in_flight.append(batches.newest_time(memoryview(batch.data)))
            if target.queue and self._may_follow(target):
                ready[name] = target  # to the back: every partition gets its turn
        if not ready:
            del self._ready[broker_id]
        requests = self._in_flight.setdefault(broker_id, deque())
        self._unanswered[broker_id] += size
        most = max(_MAX_IN_FLIGHT * _MAX_REQUEST_BYTES, fast)
        requests.append(_Request(size, self._unanswered[broker_id], time.monotonic(), most))
        if self._gate is not None:
            self._gate.sent(size)
        self._submit(broker_id, chosen, taken, self._data_answered)

    def _data_answered(self, broker_id: int) -> None:
        size, outstanding, sent_at, most = self._in_flight[broker_id].popleft()
        self._unanswered[broker_id] -= size
        self._window(broker_id).answered(size, outstanding, time.monotonic() - sent_at, most)
        if not self._in_flight[broker_id]:
            del self._in_flight[broker_id]

    def _stamped(self, where: TopicPartition, data: Buffer) -> Batch:
        view, producer = memoryview(data), self.producer
        batches.restamp(view, producer.stamp, producer.sequences.take(where, batches.record_count(view)))
        return Batch(*where, data)

    def _submit(
        self,
        broker_id: int,
        chosen: Sequence[Batch],
        taken: Mapping[TopicPartition, Queued],
        on_answer: Callable[[int], None],
    ) -> None:
        """Send batches, those `taken` from queues among them."""

        def answered(answer: memoryview) -> None:
            try:
                self._take_answer(broker_id, answer, taken)
            except ClusterError as failure:
                if self._on_failure is None:
                    raise
                self._on_failure(failure)
            else:
                on_answer(broker_id)

        connection = self._network.connection(broker_id)
        version = connection.version(producing.API_KEY, self.producer.produce_version, producing.LOWEST_VERSION)
        timeout_ms = self._network.access.request_timeout_ms
        body = producing.encode(chosen, self.producer.transactional_id, _ALL_REPLICAS, timeout_ms)
        connection.send(
            producing.API_KEY,
            version,
            True,
            body,
            answered,
            on_lost=self._on_failure,
        )

    def _take_answer(self, broker_id: int, answer: memoryview, taken: Mapping[TopicPartition, Queued]) -> None:
        appended, throttle_ms = producing.decode(answer)
        if throttle_ms:
            self._not_before[broker_id] = time.monotonic() + throttle_ms / 1000
        self._check_waiting(appended, taken)
        refused: list[PartitionFailed] = []
        cut_back: list[TargetCutBack] = []
        for item in appended:
            where = _place(item)
            batch = taken.get(where)
            try:
                self._check(item, where, batch)
            except PartitionFailed as failure:
                refused.append(failure)
                continue
            if batch is not None:
                self._rebuilt_bytes -= _rebuilt_size(batch)
                if self._gate is not None:
                    self._acknowledge(self._partitions[where], batch)
                try:
                    batch.on_appended(item.base_offset)
                except TargetCutBack as found:
                    cut_back.append(found)
        if cut_back:  # first of all: what is refused will be refused again
            places = {source: offset for found in cut_back for source, offset in found.places.items()}
            raise TargetCutBack(str(cut_back[0]), places)
        if refused:
            refused[0].others = refused[1:]
            raise refused[0]

    def _acknowledge(self, target: TargetPartition, batch: Queued) -> None:
        following = batches.following_sequence(memoryview(batch.data))
        target.acknowledged = Acknowledged(following, target.in_flight.popleft())
        self._make_ready(target)

    def _check_waiting(self, appended: Sequence[Appended], taken: Mapping[TopicPartition, Queued]) -> None:
        """Tell of all partitions at once that take nothing for now; what ends a transaction is no matter of them."""
        waiting = [item for item in appended if (batch := taken.get(_place(item))) and _may_pass(item, batch)]
        sources = {taken[_place(item)].source for item in waiting}
        if sources:
            name = f"{self._network.access.alias} {_place(waiting[0])}"
            code = waiting[0].error_code
            raise PartitionsWait(name, code, error_name(code), frozenset(sources))

    def _check(self, item: Appended, where: TopicPartition, batch: Queued | None) -> None:
        if not item.error_code:
            return
        # With a refused timestamp the broker tells the time; a reason that changes would be news with every attempt.
        message = "" if item.error_code == _INVALID_TIMESTAMP else item.message
        reason = f"{error_name(item.error_code)} {message}".strip()
        if batch is not None and _concerns_partition(item.error_code, batch):
            told = f"{REFUSED} it: {reason}"
            raise PartitionFailed(batch.source, told, where, item.error_code in _CONCERNS_TOPIC)
        name = f"{self._network.access.alias} {where}"
        check_fenced(name, item.error_code)
        raise BrokerRefused(name, item.error_code, reason)


def _place(item: Appended) -> TopicPartition:
    return TopicPartition(item.topic, item.partition)


def _may_pass(item: Appended, batch: Queued) -> bool:
    """Whether a partition may take later what it has refused now."""
    code = item.error_code
    return bool(code) and code not in _CONCERNS_PRODUCER and not _concerns_partition(code, batch)


def _concerns_partition(error_code: int, batch: Queued) -> bool:
    """Whether an answer speaks of what is written; brokers have no word of its own for what they cannot unpack."""
    if error_code in _CONCERNS_PARTITION:
        return True
    return error_code in _MAY_BE_UNREADABLE and _is_unreadable(batch)


def _is_unreadable(batch: Queued) -> bool:
    try:
        records.content(memoryview(batch.data))
    except MalformedRecord:
        return True
    return False


def _rebuilt_size(batch: Queued) -> int:
    return len(batch.data) if batch.is_rebuilt else 0
