"""The reading end of a lane whose records pass through SQL: what is new in its partitions, as Arrow batches.

1. Fence and read positions, as every lane does: then nothing of an earlier attempt can still be committed.
2. See where each partition ends now, and read up to there; less if that takes too long.
3. Tell the writing end what was read, passed over, or found missing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from uuid import UUID

import pyarrow as pa

from heliograph.engine.fault_points import reached
from heliograph.engine.incoming import Incoming
from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.loss import Loss, Suspicion, examine, target_losses, why_missing
from heliograph.engine.provenance import Provenance, meet_writers
from heliograph.engine.pulse import Heart, loop_doing
from heliograph.engine.source_broker import Arrival
from heliograph.engine.start import WHY_NOWHERE, beginnings
from heliograph.engine.tables.columns import Gathered
from heliograph.engine.tables.handover import Begun, Coverage, Handover
from heliograph.engine.tables.partition_read import PartitionRead
from heliograph.engine.task import LaneTask
from heliograph.engine.unended import end_declared
from heliograph.errors import BrokerRefused, BrokerUnavailable, ClusterError, PartitionFailed
from heliograph.kafka import reading
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED, Fetched, FetchPoint
from heliograph.kafka.network import Network, check, error_name
from heliograph.kafka.reading import LATEST
from heliograph.model import Assignment, Event, EventKind, LeftOut, Position, TopicPartition

_MAY_BE_LOSS = {1, 3, 100, 103}  # offset out of range, unknown topic, unknown topic id, inconsistent topic id
_SESSION_LOST = {70, 71}  # fetch session id not found, invalid fetch session epoch
_CONCERNS_PARTITION = {2, 29}  # corrupt message, not authorised for the topic


class LaneReader:
    """Reads the partitions of a lane once, from their positions to their ends."""

    def __init__(self, task: LaneTask, handover: Handover, heart: Heart | None = None) -> None:
        self._task = task
        self._plan = task.plan
        self._settings = task.settings
        self._handover = handover
        heart = heart or Heart.silent()
        self._loop = Loop(lambda: heart.beat(lambda: loop_doing(self._loop, "reading")), heart.before)
        self._source = Network(self._loop, task.source)
        self._incoming = Incoming(self._source, task.settings.limits, task.settings.bytes_per_second)
        self._target = Network(self._loop, task.target)
        self._reads: dict[TopicPartition, PartitionRead] = {}
        self._losses: dict[TopicPartition, Loss] = {}  # on the target
        self._suspicions: dict[TopicPartition, Suspicion] = {}
        self._events: list[Event] = []

    def close(self) -> None:
        """Drop all connections."""
        self._incoming.close()
        self._loop.close()

    def read(self) -> Iterator[pa.RecordBatch]:
        """All rows; what was read is handed over when the last one is taken."""
        known = self._current_positions()
        missing = self._source.look_up({item.source.topic for item in self._plan.assignments})
        self._provenance = Provenance(self._loop, self._source)
        self._begin(self._reachable(missing), known)
        starts = {source: item.start for source, item in self._reads.items()}
        partitions = {topic: len(self._source.partitions(topic)) for topic, _ in self._reads}
        losses = {source: loss.from_offset for source, loss in self._losses.items()}
        self._handover.begin(Begun(self._task, starts, known, partitions, losses))
        reached("started")
        gathered = Gathered()
        deadline = time.monotonic() + self._task.seconds
        while time.monotonic() < deadline and self._has_more():
            self._step(gathered)
            if gathered.is_full:
                yield gathered.take_numbered()
        if gathered:
            yield gathered.take_numbered()
        parts = [item.covered() for item in self._reads.values()]
        passed_by = [item for read in self._reads.values() for item in read.passed_by]
        self._handover.end(Coverage(parts, tuple(self._events), passed_by))

    # -- where to begin ------------------------------------------------------------------------------------------

    def _current_positions(self) -> dict[TopicPartition, Position]:
        books = LaneBooks(self._target, self._plan, self._source.access.alias)
        books.take_ids(self._plan.transactional_ids[:1], self._settings)
        books.check_targets()
        books.check_owner()
        end_declared(self._target, self._plan, books, self._settings)
        return books.positions()

    def _reachable(self, missing: dict[str, int]) -> list[Assignment]:
        for item in self._plan.assignments:
            if item.source.topic in missing:
                self._put_aside(item.source, why_missing(missing[item.source.topic]), -1)
        return [item for item in self._plan.assignments if item.source.topic not in missing]

    def _begin(self, wanted: Sequence[Assignment], known: dict[TopicPartition, Position]) -> None:
        ends = self._ends([item.source for item in wanted])
        wanted = [item for item in wanted if item.source in ends]
        fresh = [item.source for item in wanted if item.source not in known]
        starts = beginnings(self._source, fresh, self._settings, self._plan.added)
        for source in fresh:
            if source not in starts:
                self._put_aside(source, WHY_NOWHERE, -1)
        wanted = [item for item in wanted if item.source in known or item.source in starts]
        numbers = {item.source: number for number, item in enumerate(self._plan.assignments)}
        self._losses = target_losses(self._target, wanted, known)
        for item in wanted:
            loss = self._losses.get(item.source)
            if loss is not None and not self._goes_on_after(item.source, loss):
                self._put_aside(item.source, _advice(loss), known[item.source].offset + 1)
                continue
            self._begin_one(item, numbers[item.source], known.get(item.source), starts, ends[item.source])

    def _begin_one(
        self,
        item: Assignment,
        number: int,
        position: Position | None,
        starts: dict[TopicPartition, int],
        end: int,
    ) -> None:
        source = item.source
        offset = starts[source] if position is None else position.offset + 1
        epoch = -1 if position is None else position.leader_epoch
        topic_id = self._source.topic_id(source.topic)
        point = FetchPoint(source.topic, topic_id, source.partition, offset, last_fetched_epoch=epoch)
        provenance = self._provenance.of(self._plan.left_out.get(source.topic, LeftOut()))
        read = self._reads[source] = PartitionRead(item, number, point, end, position is None, provenance)
        # Where a partition begins must be written down unless every later attempt would find the same place.
        read.is_news = position is None and (offset > 0 or self._settings.start_may_move)
        read.is_news |= source in self._losses
        if position is not None and position.topic_id and UUID(position.topic_id) != topic_id:
            self._suspicions[source] = Suspicion(UUID(position.topic_id))
        elif offset > end:
            self._suspicions[source] = Suspicion()
        elif not read.is_done:
            self._incoming.read(point)

    def _ends(self, sources: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Where partitions end for whoever reads committed records; those that cannot be asked are left out for now."""
        try:
            return reading.list_many(self._source, dict.fromkeys(sources, LATEST), READ_COMMITTED)
        except ClusterError:
            if len(sources) == 1:
                raise
        found: dict[TopicPartition, int] = {}
        failure: ClusterError | None = None
        for source in sources:
            try:
                found |= self._ends([source])
            except BrokerRefused as error:
                self._put_aside(source, f"{error.name} when asking the source where it ends", -1)
            except ClusterError as error:
                failure = error
        if failure is not None and not found:
            raise failure
        return found

    # -- reading -------------------------------------------------------------------------------------------------

    def _has_more(self) -> bool:
        return bool(self._suspicions) or not all(item.is_done for item in self._reads.values())

    def _step(self, gathered: Gathered) -> None:
        self._follow_suspicions()
        self._incoming.fetch()
        if not self._incoming.arrivals:
            self._loop.run_once(0.1)
        while self._incoming.arrivals:
            arrival = self._incoming.arrivals.popleft()
            self._look_at(arrival, gathered)
            arrival.broker.looked_at(arrival)
        self._incoming.fetch()  # brokers look for more while rows are being taken

    def _look_at(self, arrival: Arrival, gathered: Gathered) -> None:
        broker, result = arrival.broker, arrival.result
        if result.error_code in _SESSION_LOST:
            return  # the next request begins a new fetch session
        check(f"{self._source.access.alias} fetch", result.error_code)
        meet_writers((self._reads[_name(fetched)].provenance, fetched.records) for fetched in result.partitions)
        for fetched in result.partitions:
            if self._incoming.is_elsewhere(broker, fetched):
                continue
            read = self._reads[_name(fetched)]
            if fetched.error_code or fetched.diverging:
                self._incoming.stop(broker, fetched.point)
                self._troubled(read, fetched)
                continue
            try:
                read.accept(fetched, gathered)
            except PartitionFailed as failure:
                self._stop(read, failure.reason)
            broker.session.moved(fetched.point)
            if read.is_done:
                self._incoming.stop(broker, fetched.point)

    # -- partitions in trouble -----------------------------------------------------------------------------------

    def _troubled(self, read: PartitionRead, fetched: Fetched) -> None:
        if fetched.diverging is not None:
            self._suspicions[read.source] = Suspicion(diverged_at=fetched.diverging[1])
        elif fetched.error_code in _MAY_BE_LOSS:
            self._suspicions[read.source] = Suspicion()
        elif fetched.error_code in _CONCERNS_PARTITION:
            self._stop(read, f"{error_name(fetched.error_code)} when reading from the source")
        else:
            check(f"{self._source.access.alias} {read.source}", fetched.error_code)

    def _follow_suspicions(self) -> None:
        suspicions, self._suspicions = self._suspicions, {}
        for where, suspicion in suspicions.items():
            read = self._reads[where]
            try:
                loss = examine(self._source, read.point, suspicion)
            except PartitionFailed as failure:
                self._stop(read, failure.reason)
                continue
            except BrokerUnavailable:
                self._suspicions[where] = suspicion  # it is asked again, as long as the others are read
                continue
            if loss is not None:
                self._handle_loss(read, loss)
            elif not read.is_done:
                self._incoming.read(read.point)

    def _handle_loss(self, read: PartitionRead, loss: Loss) -> None:
        if self._goes_on_after(read.source, loss):
            read.point.topic_id = self._source.topic_id(read.source.topic)
            read.skip_to(loss.resume_at)
        else:
            self._stop(read, _advice(loss))

    def _goes_on_after(self, source: TopicPartition, loss: Loss) -> bool:
        """Tell a loss, once; whether the partition goes on, by policy."""
        goes_on = self._settings.goes_on_after_loss
        if goes_on or self._plan.set_aside.get(source) != _advice(loss):
            self._events.append(Event(loss.kind, source, loss.from_offset, loss.to_offset, loss.reason))
        return goes_on

    def _stop(self, read: PartitionRead, reason: str) -> None:
        read.has_stopped = True
        self._put_aside(read.source, reason, read.point.offset)

    def _put_aside(self, source: TopicPartition, reason: str, offset: int) -> None:
        if self._plan.set_aside.get(source) != reason:
            self._events.append(Event(EventKind.SET_ASIDE, source, offset, -1, reason))


def _name(fetched: Fetched) -> TopicPartition:
    return TopicPartition(fetched.point.topic, fetched.point.partition)


def _advice(loss: Loss) -> str:
    return f"{loss.reason}; on.data.loss = continue goes on at offset {loss.resume_at}"
