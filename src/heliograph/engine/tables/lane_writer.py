"""The writing end of a lane whose records pass through SQL: one transaction of rows, positions and a ledger entry."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from heliograph.engine.closing import Closing
from heliograph.engine.dead_letters import dead_letter
from heliograph.engine.fault_points import reached
from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.loss import target_loss
from heliograph.engine.pulse import Heart, loop_doing
from heliograph.engine.tables.appending import LARGEST_BATCH, Appending, Stream, record_size
from heliograph.engine.tables.columns import header_pairs
from heliograph.engine.tables.handover import Begun, Coverage, Covered
from heliograph.engine.tables.partition_read import CODEC_BITS
from heliograph.engine.target_topics import TargetTopics
from heliograph.errors import BrokerUnavailable, DataError, Fenced, TargetCutBack
from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.records import Record
from heliograph.ledger.runs import add_run
from heliograph.model import (
    Assignment,
    Event,
    EventKind,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    TopicPartition,
)
from heliograph.transforms.chain import Failed

# The columns that the writer gets, in this order; see `query.py`.
COLUMNS = ("number", "offset", "had_value", "key", "value", "headers", "topic", "partition", "time")
_CODEC_MASK = (1 << CODEC_BITS) - 1
_STAGE = "sql"


@dataclass
class _Part:
    """What the transaction did for one source partition and one partition of the target."""

    runs: list[Run] = field(default_factory=list)
    byte_count: int = 0
    oldest: int = -1
    newest: int = -1
    total: int = 0

    def add(self, written: Sequence[Record], base_offset: int, size: int) -> None:
        """Note records that were appended from this target offset on."""
        times = [record.timestamp for record in written]
        self.oldest = min(times) if self.oldest < 0 else min(self.oldest, *times)
        self.newest = max(self.newest, *times)
        self.total += sum(times)
        self.byte_count += size
        first, last = written[0].offset, written[-1].offset
        if last - first + 1 == len(written):
            add_run(self.runs, first, base_offset, len(written))
            return
        for place, record in enumerate(written, base_offset):
            add_run(self.runs, record.offset, place, 1)

    def progress(self, source: TopicPartition, target: TopicPartition, last_offset: int) -> PartitionProgress:
        """The same for the ledger."""
        count = sum(run.length for run in self.runs)
        mean = self.total // count if count else -1
        runs = tuple(self.runs)
        return PartitionProgress(source, target, runs, last_offset, self.byte_count, self.newest, self.oldest, mean)


@dataclass
class _Source:
    """One source partition as the writer sees it."""

    assignment: Assignment
    parts: dict[TopicPartition, _Part] = field(default_factory=dict)
    streams: dict[TopicPartition, Stream] = field(default_factory=dict)
    failures: list[tuple[int, Failed]] = field(default_factory=list)
    stopped_at: int | None = None  # a bad record that must not be passed over


class LaneWriter:
    """Writes what the query made of a lane's records."""

    def __init__(self, begun: Begun, heart: Heart | None = None) -> None:
        task = begun.task
        self._begun = begun
        self._plan = task.plan
        self._settings = task.settings
        self._rules = task.settings.transforms
        heart = heart or Heart.silent()
        self._loop = Loop(lambda: heart.beat(lambda: loop_doing(self._loop, "writing")), heart.before)
        self._target = Network(self._loop, task.target)
        self._sources = [_Source(item) for item in task.plan.assignments]
        self._streams: dict[tuple[int, str | None, int | None], Stream] = {}
        self._letters: dict[int, Stream] = {}

    def close(self) -> None:
        """Drop all connections."""
        self._loop.close()

    def start(self) -> None:
        """Fence, check the owner, and check that what was read begins where the target ends."""
        self._books = LaneBooks(self._target, self._plan, self._begun.task.source.alias)
        [self._producer] = self._books.take_ids(self._plan.transactional_ids[:1], self._settings)
        self._books.check_targets()
        reached("fenced")
        self._books.check_owner()
        self._books.announce(self._producer)
        known = self._books.positions()
        for source in self._begun.starts:
            if known.get(source) != self._begun.positions.get(source):
                raise Fenced(f"{source}: another attempt of this lane has moved its position meanwhile")
        self._check_targets(known)
        self._appending = Appending(self._loop, self._target, self._producer)
        self._topics = TargetTopics(self._target, self._appending.outgoing, self._rules.replication_factor)

    def _check_targets(self, known: Mapping[TopicPartition, Position]) -> None:
        """Raise if a target has become another topic since the reader looked; the next attempt tells what is lost."""
        for item in self._plan.assignments:
            position, topic_id = known.get(item.source), self._target.incarnation(item.target.topic)
            if item.source not in self._begun.starts or item.source in self._begun.losses or position is None:
                continue
            if target_loss(position, item.target, position.target_offset + 1, topic_id) is not None:
                raise BrokerUnavailable(f"{item.target}: its topic was created again meanwhile")

    # -- rows ----------------------------------------------------------------------------------------------------

    def write(self, batch: pa.RecordBatch) -> None:
        """Append the rows of a batch, each a record of the source after the query."""
        for number, had_value, topic, partition, record in _rows(batch):
            source = self._sources[number >> CODEC_BITS]
            if source.stopped_at is not None:
                continue
            if record.value is None and had_value:
                self._fail(
                    source, record.offset, "the query made its value NULL, which would delete what it stands for"
                )
                continue
            self._place(number, topic, partition, record)
        self._appending.advance()

    def _place(self, number: int, topic: str | None, partition: int | None, record: Record) -> None:
        try:
            stream = self._streams.get((number, topic, partition)) or self._open(number, topic, partition)
            size = record_size(record)
            if stream.may_be_too_large(size):
                _check_size(record, stream)
        except DataError as error:
            self._fail(self._sources[number >> CODEC_BITS], record.offset, str(error))
        else:
            self._appending.turn_to(stream, self._codec(number))
            self._appending.add(stream, record, size)

    def _open(self, number: int, topic: str | None, partition: int | None) -> Stream:
        source = self._sources[number >> CODEC_BITS]
        item = source.assignment
        if topic is None:
            raise DataError("the query made its topic NULL")
        home = TopicPartition(topic or item.target.topic, item.target.partition if partition is None else partition)
        if home == item.target:
            target = self._appending.outgoing.partition(home)
        else:
            target = self._topics.partition(home, self._begun.partitions.get(item.source.topic, 1))
        stream = source.streams.get(home)
        if stream is None:
            part = source.parts.setdefault(home, _Part())
            limit = item.max_batch_bytes if home.topic == item.target.topic else LARGEST_BATCH
            stream = source.streams[home] = Stream(target, item.source, part.add, largest_batch=limit)
        self._streams[number, topic, partition] = stream
        return stream

    def _codec(self, number: int) -> int:
        """That of the record's batch on the source, unless another one is forced."""
        return number & _CODEC_MASK if self._settings.compression is None else self._settings.compression

    # -- records that cannot be written --------------------------------------------------------------------------

    def _fail(self, source: _Source, offset: int, reason: str) -> None:
        """Stop the partition before the record, or write a dead letter: by the rules of the flow."""
        failed = Failed(_STAGE, "transform.sql", DataError(reason))
        source.failures.append((offset, failed))
        if self._rules.stops_on_failure:
            source.stopped_at = offset
            return
        where = source.assignment.source
        record = self._original(where, offset) if self._rules.shows_content else Record(offset, _now(), None, None)
        letter = dead_letter(record, where, self._plan.flow, failed, bool(self._rules.shows_content))
        self._appending.add(self._letters_of(source), letter, record_size(letter))

    def _original(self, where: TopicPartition, offset: int) -> Record:
        """The record as it is on the source: it does not come along with every row only because it may be needed."""
        with opened(self._begun.task.source, [where.topic]) as (loop, network):
            span = {where.partition: offset}, {where.partition: offset + 1}
            for batch in reading.read_batches(loop, network, where.topic, *span):
                for record in records.decode(batch.magic, batch.data):
                    if record.offset == offset:
                        return record
        raise DataError(f"{where}: offset {offset} is gone on the source")

    def _letters_of(self, source: _Source) -> Stream:
        number = self._sources.index(source)
        if number not in self._letters:
            target = self._topics.partition(TopicPartition(self._rules.dead_letters, 0), 1)
            self._letters[number] = Stream(target, source.assignment.source)
        return self._letters[number]

    # -- the end -------------------------------------------------------------------------------------------------

    def finish(self, coverage: Coverage) -> LedgerEntry | None:
        """Commit everything; what was committed, or None if there was nothing to do."""
        for number, record in coverage.passed_by:
            self._place(number, "", None, record)
        streams = [stream for source in self._sources for stream in source.streams.values()]
        self._appending.finish([*streams, *self._letters.values()])
        self._check_appended()
        reached("data-written")
        sources = {item.assignment.source: item for item in self._sources}
        done: list[PartitionProgress] = []
        places: dict[TopicPartition, Position] = {}
        events = list(coverage.events)
        for covered in coverage.parts:
            source = sources[covered.source]
            events.extend(self._events_of(source, covered))
            if covered.has_moved:
                places[covered.source] = self._position(source, covered)
                done.extend(self._progress(source, covered, places[covered.source].offset))
        if not done and not events:
            return None
        return self._commit(done, self._barred(self._begun.losses, places) | places, events)

    def tell(self, events: Sequence[Event]) -> LedgerEntry:
        """Commit events alone."""
        return self._commit([], {}, events)

    def bar(self, lost_from: Mapping[TopicPartition, int]) -> LedgerEntry:
        """Write down where targets have lost something; the next attempt tells, and goes on or does not."""
        return self._commit([], self._barred(lost_from, {}), [])

    def _barred(
        self, lost_from: Mapping[TopicPartition, int], moved: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, Position]:
        """The positions of partitions that do not go on, which say from where on their targets have lost something."""
        known = self._begun.positions
        return {
            source: replace(known[source], target_lost_from=offset)
            for source, offset in lost_from.items()
            if source not in moved and known[source].target_lost_from < 0
        }

    def _commit(
        self, done: Sequence[PartitionProgress], places: Mapping[TopicPartition, Position], events: Sequence[Event]
    ) -> LedgerEntry:
        plan, producer_id = self._plan, self._producer.stamp.producer_id
        entry = LedgerEntry(plan.flow, plan.lane, plan.owner, producer_id, _now(), tuple(done), tuple(events))
        closing = Closing(self._appending.outgoing, entry, self._books.records_of(entry, places))
        while not closing.advance():
            self._loop.run_once(0.1)
        return replace(entry, committed_at_ms=_now())

    def _check_appended(self) -> None:
        """Raise if partitions of the target have appended at offsets that they had before."""
        places: dict[TopicPartition, int] = {}
        for source in self._sources:
            where, part = source.assignment.source, source.parts.get(source.assignment.target)
            if part is not None and part.runs and part.runs[0].target <= self._filled_to(where):
                places[where] = part.runs[0].target
        if places:
            raise TargetCutBack(f"targets of {', '.join(map(str, places))} have lost what they had", places)

    def _filled_to(self, source: TopicPartition) -> int:
        """The last offset of its target that was written before and is still there."""
        before = self._begun.positions.get(source)
        lost_from = self._begun.losses.get(source)
        if lost_from is not None:
            return lost_from - 1
        return before.target_offset if before else -1

    def _position(self, source: _Source, covered: Covered) -> Position:
        end = covered.end if source.stopped_at is None else source.stopped_at
        home, target_offset = source.assignment.target, self._filled_to(covered.source)
        part = source.parts.get(home)
        if part is not None and part.runs:
            target_offset = part.runs[-1].target + part.runs[-1].length - 1
        epoch = covered.leader_epoch if source.stopped_at is None else -1
        return Position(end - 1, target_offset, covered.topic_id, epoch, self._target.incarnation(home.topic))

    def _progress(self, source: _Source, covered: Covered, last_offset: int) -> Iterator[PartitionProgress]:
        """First what went to the partition's own target, be it nothing; then what went elsewhere."""
        where, home = covered.source, source.assignment.target
        parts = dict(source.parts)
        own = parts.pop(home, _Part()).progress(where, home, last_offset)
        failed = 0 if self._rules.stops_on_failure else len(source.failures)
        arrived = sum(run.length for part in source.parts.values() for run in part.runs)
        dropped = covered.records - arrived - failed if source.stopped_at is None else 0
        yield replace(own, dropped=dropped, failed=failed, begins_at=covered.start if covered.is_new else -1)
        for target, part in parts.items():
            if part.runs:
                yield part.progress(where, target, last_offset)

    def _events_of(self, source: _Source, covered: Covered) -> Iterator[Event]:
        where, failures = covered.source, source.failures
        if source.stopped_at is not None:
            reason = f"the record at offset {source.stopped_at} cannot be transformed: {failures[0][1]}"
            if self._plan.set_aside.get(where) != reason:
                yield Event(EventKind.SET_ASIDE, where, source.stopped_at, -1, reason)
        elif covered.end > covered.start and where in self._plan.set_aside:
            yield Event(EventKind.RESUMED, where, covered.start, -1, "goes on")
        if failures and source.stopped_at is None:
            (first, failed), count = failures[0], len(failures)
            what = "1 record could not be transformed" if count == 1 else f"{count} records could not be transformed"
            reason = f"{what}: {failed}; see {self._rules.dead_letters}"
            yield Event(EventKind.DEAD_LETTERS, where, first, failures[-1][0] + 1, reason)


def _check_size(record: Record, stream: Stream) -> None:
    size = len(records.encode([record], compression=stream.compression))
    if size > stream.largest_batch:
        raise DataError(f"it makes a batch of {size} bytes, and the target takes {stream.largest_batch}")


def _now() -> int:
    return int(time.time() * 1000)


def _rows(batch: pa.RecordBatch) -> Iterator[tuple[int, bool, str | None, int | None, Record]]:
    """The rows of a batch: whose, whether it had a value, where to, and the record itself."""
    numbers, offsets, had_values, keys, values, headers, topics, partitions, times = batch.columns
    made = map(
        Record, offsets.to_pylist(), times.to_pylist(), keys.to_pylist(), values.to_pylist(), header_pairs(headers)
    )
    return zip(
        numbers.to_pylist(), had_values.to_pylist(), topics.to_pylist(), partitions.to_pylist(), made, strict=True
    )
