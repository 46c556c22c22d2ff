"""A lane: one Spark task that copies its partitions until the epoch ends.

Its life:
1. fence: take the transactional id, which ends an open transaction of a predecessor and locks it out;
2. check that the flow still belongs to the mirror that planned this lane;
3. read the positions that were written after the plan was made;
4. copy, and commit: data, positions and one ledger entry in the same transaction on the target.
Trouble with a broker at any step means: forget everything uncommitted and begin again at 1.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from heliograph.engine.copying import PartitionCopy
from heliograph.engine.incoming import FetchBuffer, SourceBroker
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.errors import ClusterError, Fenced
from heliograph.kafka import ledger, positions, reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Buffer, Loop
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchResult
from heliograph.kafka.network import Network, check
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import LanePlan, LedgerEntry, PartitionProgress, Position, TopicPartition

log = logging.getLogger(__name__)

_TRANSACTION_TIMEOUT_MS = 15_000
_LONGEST_BACKOFF = 10.0


@dataclass(frozen=True)
class LaneSettings:
    """How a lane works; the same for all lanes of a flow."""

    commit_interval: float = 1.0
    limits: FetchLimits = field(default_factory=FetchLimits)


class Lane:
    """Copies the partitions of a plan from one cluster to another."""

    def __init__(
        self,
        plan: LanePlan,
        source: Access,
        target: Access,
        settings: LaneSettings,
        should_end: Callable[[], bool],
    ) -> None:
        self._plan = plan
        self._access = (source, target)
        self._settings = settings
        self._should_end = should_end

    def run(self) -> Iterator[LedgerEntry]:
        """Copy until the epoch ends; yields one entry per committed transaction."""
        backoff = 0.1
        while True:
            session = _LaneSession(self._plan, *self._access, self._settings)
            try:
                session.start()
                for entry in session.copy(self._should_end):
                    backoff = 0.1
                    yield entry
                return
            except ClusterError as error:
                if not self._can_recover(error):
                    raise
                log.warning("%s lane %d: %s; trying again in %.1f s", self._plan.flow, self._plan.lane, error, backoff)
            finally:
                session.close()
            if self._should_end():
                return
            time.sleep(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF)

    @staticmethod
    def _can_recover(error: ClusterError) -> bool:
        # A fenced producer may only have been too slow; the next start asks the ledger whose flow it is.
        return error.retriable or (isinstance(error, Fenced) and not isinstance(error, _NotOurs))


class _NotOurs(Fenced):
    """The ledger names another owner of the flow."""


class _LaneSession:
    """One attempt: from fencing to the first failure or the end of the epoch."""

    def __init__(self, plan: LanePlan, source: Access, target: Access, settings: LaneSettings) -> None:
        self._plan = plan
        self._settings = settings
        self._loop = Loop()
        self._source = Network(self._loop, source)
        self._target = Network(self._loop, target)
        self._copies: dict[TopicPartition, PartitionCopy] = {}
        self._brokers: dict[int, SourceBroker] = {}
        self._sources = {item.target: item.source for item in plan.assignments}
        self._touched: dict[TopicPartition, PartitionCopy] = {}
        self._behind: set[TopicPartition] = set()
        self._began: float | None = None

    def close(self) -> None:
        """Drop all connections."""
        self._loop.close()

    # -- steps 1 to 3 ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Fence, check the owner, read positions, and begin to fetch there."""
        plan = self._plan
        self._source.refresh({item.source.topic for item in plan.assignments})
        self._target.refresh({item.target.topic for item in plan.assignments} | {plan.offsets_topic, plan.ledger_topic})
        self._producer = TransactionalProducer(self._target, plan.transactional_id, _TRANSACTION_TIMEOUT_MS)
        self._outgoing = Outgoing(self._target, plan.transactional_id)
        self._check_owner()
        self._begin_at(self._current_positions())

    def _check_owner(self) -> None:
        plan = self._plan
        owner = plan.owner
        for _, record in reading.read_to_end(self._loop, self._target, plan.ledger_topic, {0: plan.ledger_read_to}):
            owner = ledger.decode_owner(record.value or b"{}") or owner
        if owner != plan.owner:
            raise _NotOurs(f"flow {plan.flow} now belongs to {owner}; this mirror ({plan.owner}) stops")

    def _current_positions(self) -> dict[TopicPartition, Position]:
        plan = self._plan
        current = dict(plan.positions)
        for _, record in reading.read_to_end(self._loop, self._target, plan.offsets_topic, plan.offsets_read_to):
            positions.apply(current, self._source.access.alias, record.key, record.value)
        return current

    def _begin_at(self, known: dict[TopicPartition, Position]) -> None:
        fresh = [item.source for item in self._plan.assignments if item.source not in known]
        starts = self._earliest(fresh)
        starts.update({source: position.offset + 1 for source, position in known.items()})
        for item in self._plan.assignments:
            topic, partition = item.source
            leader = self._source.leader(topic, partition)
            point = FetchPoint(topic, self._source.topic_id(topic), partition, starts[item.source], leader.epoch)
            target = self._outgoing.partition(item.target)
            self._copies[item.source] = PartitionCopy(item, point, target, self._outgoing, self._producer.stamp)
            self._source_broker(leader.broker_id).add(point)

    def _earliest(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        by_topic: dict[str, dict[int, int]] = {}
        for topic, partition in partitions:
            by_topic.setdefault(topic, {})[partition] = EARLIEST
        return {
            TopicPartition(topic, partition): offset
            for topic, wanted in by_topic.items()
            for partition, offset in reading.list_offsets(self._source, topic, wanted).items()
        }

    def _source_broker(self, broker_id: int) -> SourceBroker:
        if broker_id not in self._brokers:
            connection = self._source.connection(broker_id)
            self._brokers[broker_id] = SourceBroker(connection, self._settings.limits, self._fetched)
        return self._brokers[broker_id]

    # -- step 4 ---------------------------------------------------------------------------------------------------

    def copy(self, should_end: Callable[[], bool]) -> Iterator[LedgerEntry]:
        """Copy until told to end; everything appended by then is committed."""
        while not should_end():
            for broker in self._brokers.values():
                broker.fetch()
            self._loop.run_once(0.1)
            self._send_waiting()
            if self._commit_is_due():
                yield self._commit()
        if self._began is not None:
            yield self._commit()

    def _fetched(self, broker: SourceBroker, result: FetchResult, buffer: FetchBuffer) -> None:
        check(f"{self._source.access.alias} fetch", result.error_code)
        for fetched in result.partitions:
            where = TopicPartition(fetched.point.topic, fetched.point.partition)
            check(f"{self._source.access.alias} {where}", fetched.error_code)
            copy = self._copies[where]
            buffer.hold(copy.accept(fetched, buffer.release))
            broker.session.moved(fetched.point)
            self._touched[where] = copy
            if copy.is_behind:
                self._behind.add(where)
            else:
                self._behind.discard(where)
        if result.partitions and self._began is None:
            self._began = time.monotonic()

    def _send_waiting(self) -> None:
        """Send queued batches, after their partitions have joined the transaction."""
        while waiting := self._outgoing.waiting() - self._producer.joined:
            # Waiting for the answer lets other responses in, which may queue for more partitions: hence the loop.
            sources = {self._sources[target] for target in waiting}
            self._producer.join(waiting | self._bookkeeping(sources))
        self._outgoing.pump()

    def _bookkeeping(self, sources: Iterable[TopicPartition]) -> set[TopicPartition]:
        """The partitions of the offsets topic and the ledger that a transaction with these sources writes to."""
        plan = self._plan
        written = {TopicPartition(plan.offsets_topic, self._offsets_partition(source)) for source in sources}
        return written | {TopicPartition(plan.ledger_topic, 0)}

    def _offsets_partition(self, source: TopicPartition) -> int:
        key = positions.encode_key(self._source.access.alias, source)
        return positions.partition_for(key, len(self._plan.offsets_read_to))

    def _commit_is_due(self) -> bool:
        if self._began is None:
            return False
        if time.monotonic() - self._began >= self._settings.commit_interval:
            return True
        return not self._behind and self._outgoing.is_idle and bool(self._producer.joined)

    def _commit(self) -> LedgerEntry:
        """End the transaction: 1 all answers in, 2 positions and ledger entry, 3 commit. The order is the guarantee."""
        self._loop.run_until(lambda: not self._outgoing.has_in_flight)
        finished = [copy.take_progress() for copy in self._touched.values() if copy.has_moved]
        # Set before the steps that wait for answers: what is fetched meanwhile is touched for the next transaction.
        self._touched = {where: copy for where, copy in self._touched.items() if copy.has_queued}
        entry = self._ledger_entry([progress for progress, _ in finished])
        if finished:
            self._write_bookkeeping(finished, entry)
        self._producer.end(commit=True)
        self._began = time.monotonic() if self._touched else None
        return entry

    def _write_bookkeeping(self, finished: list[tuple[PartitionProgress, Position]], entry: LedgerEntry) -> None:
        plan, now = self._plan, entry.written_at_ms
        contents: dict[TopicPartition, list[Record]] = {
            TopicPartition(plan.ledger_topic, 0): [Record(0, now, plan.flow.encode(), ledger.encode_entry(entry))]
        }
        for progress, position in finished:
            key = positions.encode_key(self._source.access.alias, progress.source)
            where = TopicPartition(plan.offsets_topic, self._offsets_partition(progress.source))
            contents.setdefault(where, []).append(Record(0, now, key, positions.encode_value(position)))
        self._producer.join(set(contents))
        encoded: dict[TargetPartition, Buffer] = {}
        for where, written in contents.items():
            target = self._outgoing.partition(where)
            encoded[target] = records.encode(written, self._producer.stamp, target.take_sequence(len(written)))
        self._outgoing.send_now(encoded)
        self._loop.run_until(lambda: not self._outgoing.has_in_flight)

    def _ledger_entry(self, partitions: list[PartitionProgress]) -> LedgerEntry:
        plan, now = self._plan, int(time.time() * 1000)
        return LedgerEntry(plan.flow, plan.lane, plan.owner, self._producer.stamp.producer_id, now, tuple(partitions))
