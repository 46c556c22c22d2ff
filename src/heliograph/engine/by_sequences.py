"""Exactly once by sequence numbers: plain batches, for which the books say ahead what their numbers stand for.

1. Take the id of the books, and see its markers there: earlier attempts of the lane can write nothing down any more.
2. Read what was declared, and take the id for data that was unused longest.
3. (`unended.py`) Lock out whoever has one of the partitions open, find out how far they are, tell the ledger.
4. Declare, for all partitions: who writes from now on, and from which source offset on.
5. Look back: if somebody else has declared meanwhile, begin again, and let them be locked out.
6. Write down a position where nobody of ours has yet. One that another mirror wrote voids what was declared.
7. Copy. Batches leave under the lease of the id, after whatever gap they lie behind is declared.
8. Flush: about once a second the ledger is told what was copied, then positions are written.
9. End: when all is acknowledged and flushed, the declarations are deleted.

The sessions of a lane never share an epoch, so sequence numbers begin at 0 with each, and only then.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from heliograph.engine.commit import targets_of
from heliograph.engine.copying import PartitionCopy
from heliograph.engine.declaring import Declared, Declaring
from heliograph.engine.fault_points import reached as fault_point
from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.lease import Lease, boot_seconds
from heliograph.engine.links import Links
from heliograph.engine.loss import Loss
from heliograph.engine.outgoing import Outgoing
from heliograph.engine.plain_books import PlainBooks
from heliograph.engine.settings import LaneSettings
from heliograph.engine.unended import Recovery, Unended, flush_of
from heliograph.errors import BrokerUnavailable
from heliograph.kafka import fence, reading
from heliograph.kafka.fence import Fence
from heliograph.kafka.network import Network
from heliograph.kafka.reading import LATEST
from heliograph.kafka.transaction import PlainProducer, TransactionalProducer, take_all
from heliograph.ledger.declarations import Anchor, Flush, Writer
from heliograph.ledger.notes import MOST_EPOCHS, NEVER_AGAIN, Note, choose_id
from heliograph.model import Event, LanePlan, LedgerEntry, Position, TopicPartition


class BySequences:
    """One session's declarations, batches and flushes."""

    outgoing: Outgoing

    def __init__(self, plan: LanePlan, target: Network, settings: LaneSettings, books: LaneBooks, links: Links) -> None:
        self._plan = plan
        self._target = target
        self._settings = settings
        self._books = books
        self._links = links
        self._plain = PlainBooks(target, plan.name, plan.topics, plan.offsets_read_to)
        self._found = Unended()
        self._unwritten: set[TopicPartition] = set()
        self._entry: LedgerEntry | None = None
        self._is_flushed = False
        self._flushing_since = math.inf
        self._sequences: dict[TopicPartition, int] = {}
        self._copies: dict[TopicPartition, PartitionCopy] = {}

    # -- before anything is written --------------------------------------------------------------------------------

    def take(self) -> None:
        """Steps 1 and 2."""
        plan, timeout = self._plan, self._settings.transaction_timeout_ms
        topics = {where.topic for where in targets_of(plan.assignments)}
        self._target.refresh(topics | {*plan.topics} - {plan.topics.offset_map})
        self._plain.take(timeout)
        self._asked_at = boot_seconds()
        self._taken = self._take_id(timeout)
        stamp = self._taken.stamp
        self._writer = Writer(stamp.producer_id, stamp.epoch)
        lease = Lease(self._target, self._name, stamp, self._asked_at)
        self._gate = Declaring(plan.name, self._name, self._writer, lease, self._write_notes)
        self._lease = lease
        producer = PlainProducer(self._name, stamp)
        most_runs = self._settings.most_runs
        self.outgoing = Outgoing(self._target, producer, self._target.loop.fail, most_runs, self._links, self._gate)

    def _take_id(self, timeout_ms: int) -> TransactionalProducer:
        """The one unused longest; one that has used up its epochs, more or less, is never used again."""
        used = dict(self._plain.notes.used.get(self._plan.name, {}))
        now = int(time.time() * 1000)
        used |= {note.name: now for note in self._plain.notes.all() if note.lane == self._plan.name}
        while True:
            self._name = choose_id(self._plan.name, used, now)
            [taken] = take_all(self._target, [self._name], timeout_ms)
            if taken.stamp.epoch < MOST_EPOCHS:
                break
            used[self._name] = NEVER_AGAIN
        last = max(used, key=lambda name: used[name], default=None)
        if last is not None and used[last] != NEVER_AGAIN:
            used[last] = now  # the session before may have used it until now
        self._used = used | {self._name: now}
        return taken

    def announce(self) -> None:
        """The id under which data is written."""
        self._books.announce(self.outgoing.producer)

    def positions(self) -> dict[TopicPartition, Position]:
        """Step 3."""
        timeout = self._settings.transaction_timeout_ms
        self._books.leave_to_the_driver(targets_of(self._plan.assignments))
        recovery = Recovery(self._target, self._plan, self._plain, self._books.positions, timeout)
        self._found = recovery.run()
        return dict(self._found.positions)

    def _mark_own(self, targets: Collection[TopicPartition]) -> None:
        """Our own marker lets brokers refuse what follows, should they ever lose all that was written after it.

        It locks nobody out, so nobody waits until it can be seen, only until no more of them can come. Not before it is
        known where the targets end: who looks whether they have lost something would take it for a record.
        """
        fence.write_markers(self._target, Fence(self._taken, frozenset(targets)))
        fence.await_written(self._target, self._taken)

    @property
    def producer_id(self) -> int:
        """The same for the whole session."""
        return self._writer.producer_id

    @property
    def unusable(self) -> Mapping[TopicPartition, str]:
        """Where nobody can be locked out, or nobody can tell how far the last writer came."""
        return self._books.unusable | self._found.unusable

    @property
    def losses(self) -> Mapping[TopicPartition, Loss]:
        """Where the target does not have what a position ends with."""
        return self._found.losses

    @property
    def events(self) -> Sequence[Event]:
        """Where something may be repeated."""
        return self._found.events

    def begun(self, copies: Sequence[PartitionCopy]) -> Collection[TopicPartition]:
        """Steps 4 to 6."""
        if not copies:
            return ()
        targets = {copy.assignment.target for copy in copies}
        self._mark_own(targets)
        seen = self._plain.notes.end
        ends = reading.list_many(self._target, dict.fromkeys(targets, LATEST))
        noted = [self._declare(copy, seen, ends[copy.assignment.target]) for copy in copies]
        now = int(time.time() * 1000)
        declarations = TopicPartition(self._plan.topics.declarations, 0)
        told = [*self._plain.of_uses(self._used, now)[declarations], *self._plain.of_notes(noted, now)[declarations]]
        self._plain.write_and_wait({declarations: told})
        self._look_back(seen, {copy.assignment.source for copy in copies})
        unwritten = {copy.assignment.source for copy in copies if self._must_be_written(copy)}
        self._gate.unwritten |= {source for source in unwritten if not self._is_signed(source)}
        for copy in copies:
            copy.is_read_at_once = True
            self._copies[copy.assignment.source] = copy
        return unwritten

    def _declare(self, copy: PartitionCopy, seen: int, target_end: int) -> Note:
        source = copy.assignment.source
        position = self._found.positions.get(source) or Position(copy.point.offset - 1)
        if position.producer_id < 0:
            copy.follow_on(target_end - 1)  # whatever the target has lies before what is to come
        base = flush_of(position)
        if base.target_offset != copy.target_offset:  # nothing of ours ends there
            base = Flush(base.next_offset, copy.target_offset, leader_epoch=base.leader_epoch)
        topic_id = position.topic_id or str(copy.point.topic_id)
        first = Anchor(0, copy.point.offset, copy.point.last_fetched_epoch)
        target = self.outgoing.partition(copy.assignment.target)
        return self._gate.begin(Declared(source, target, topic_id, base, seen, first, [first]))

    def _look_back(self, seen: int, sources: Collection[TopicPartition]) -> None:
        self._plain.read()
        if others := self._plain.notes.others_since(seen, sources, self._writer):
            where = ", ".join(sorted(str(session.source) for session in others))
            raise BrokerUnavailable(f"another lane has begun to write to {where}; it must be locked out first")
        replaced = [session for session in self._plain.notes.replaced if session.source in sources]
        if replaced:
            self._plain.write_and_wait(self._plain.of_ends(replaced, int(time.time() * 1000)))

    def _is_signed(self, source: TopicPartition) -> bool:
        position = self._found.written.get(source)
        return position is not None and position.producer_id >= 0

    def _must_be_written(self, copy: PartitionCopy) -> bool:
        """What was found out, and what nobody of ours has written; but not what a lost topic of that name had."""
        source = copy.assignment.source
        position = self._found.positions.get(source)
        if position is not None and position.topic_id and position.topic_id != str(copy.point.topic_id):
            return False
        return not self._is_signed(source) or position != self._found.written.get(source)

    # -- data ------------------------------------------------------------------------------------------------------

    def send(self, is_last: bool = False) -> None:
        """Step 7."""
        self._lease.renew()
        self._gate.declare(self.outgoing)
        self.outgoing.pump(is_last)

    def _write_notes(self, some: Sequence[Note], on_written: Callable[[], None]) -> None:
        self._plain.write(self._plain.of_notes(some, int(time.time() * 1000)), on_written)

    def settle(self, is_last: bool) -> None:
        """At the end all must be acknowledged; before, what is not is for the next flush."""
        if is_last:
            awaited = f"{self._target.access.alias} to take what was sent"
            self._target.loop.run_until(lambda: not self.outgoing.has_in_flight, awaited)

    def moved(self, copy: PartitionCopy) -> None:
        """It may be another topic of the same name, so sequence numbers stand for others' offsets from here on."""
        point = copy.point
        self._gate.go_on_at(copy.assignment.source, str(point.topic_id), point.offset)

    # -- flushes ---------------------------------------------------------------------------------------------------

    def is_due(self, is_level: bool) -> bool:
        """Nobody waits for a flush, unless the tail grows long."""
        return self._gate.wants_flush

    @property
    def is_closing(self) -> bool:
        """Whether a flush is under way."""
        return self._entry is not None

    def begin(self, entry: LedgerEntry, reached: Mapping[TopicPartition, Position]) -> None:
        """Step 8: first the ledger, so that no run is ever missing; of what it is told twice it takes no harm."""
        self._lease.check()
        self._entry, self._is_flushed, self._flushing_since = entry, False, time.monotonic()
        self._sequences = {source: self._next_sequence(source) for source in reached if source in self._copies}
        signed = {source: self._signed(reached[source], number) for source, number in self._sequences.items()}
        contents = self._books.records_of(entry, {**reached, **signed})
        offsets = {where: some for where, some in contents.items() if where.topic == self._plan.topics.offsets}
        others = {where: some for where, some in contents.items() if where not in offsets}

        def told() -> None:
            fault_point("bookkeeping-written")
            self._plain.write(offsets, self._positions_written)

        self._gate.flush_begun()
        self._plain.write(others, told)
        self.outgoing.turn_to(self.outgoing.producer)  # what leaves from now on is told by the next entry

    def _signed(self, position: Position, sequence: int) -> Position:
        stamp = self._writer
        return replace(position, producer_id=stamp.producer_id, producer_epoch=stamp.epoch, sequence=sequence)

    def _next_sequence(self, source: TopicPartition) -> int:
        target = self.outgoing.partition(self._copies[source].assignment.target)
        return target.acknowledged.next_sequence if target.acknowledged else 0

    def _positions_written(self) -> None:
        self._is_flushed = True

    def advance(self) -> LedgerEntry | None:
        """The entry, once positions are written that say the same."""
        if not self._is_flushed:
            return None
        fault_point("committed")
        entry, self._entry, self._is_flushed = self._entry, None, False
        self._flushing_since = math.inf
        self._gate.flushed(self._sequences)
        return entry

    def check_answers(self, longest: float, doing: str) -> None:
        """A flush waits for two answers, one after the other."""
        now, alias = time.monotonic(), self._target.access.alias
        for since, limit in ((self.outgoing.unanswered_since, longest), (self._flushing_since, 2 * longest)):
            if now - since > limit:
                why = f"{alias}: {doing} for {now - since:.0f} s, longer than any answer may take"
                self._target.loop.fail(BrokerUnavailable(why))

    def end(self) -> None:
        """Step 9."""
        sessions = [note.session for note in self._gate.notes()]
        if sessions:
            self._plain.write_and_wait(self._plain.of_ends(sessions, int(time.time() * 1000)))
