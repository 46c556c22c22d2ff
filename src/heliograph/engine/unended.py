"""What lanes that did not end well have left: they are locked out, and the target tells how far they came.

1. Books first: whoever has one of the wanted partitions open gets a fence in the books, and these are read again. After
   that nobody can declare anything more.
2. Then data: a fence in each partition that somebody has open. After that nobody can write anything more.
3. The ends of these partitions are read, and compared with what was declared.
4. What lies there goes into the ledger, so that no run of offsets is missing. Parts of it may be there already.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.loss import Loss
from heliograph.engine.plain_books import PlainBooks, fence_books, read_notes
from heliograph.engine.settings import LaneSettings
from heliograph.kafka import fence, tails
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.fence import Fence
from heliograph.kafka.network import Network
from heliograph.kafka.tails import Tail, TailBatch
from heliograph.kafka.transaction import TransactionalProducer, take_all
from heliograph.ledger import entries
from heliograph.ledger.declarations import (
    Doubt,
    Flush,
    Recovered,
    SeenBatch,
    Writer,
    recover,
    recovered_runs,
)
from heliograph.ledger.notes import REST_MS, Note, Notes, flushed, furthest
from heliograph.model import (
    Assignment,
    Event,
    EventKind,
    LanePlan,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    TopicPartition,
)

Positions = Mapping[TopicPartition, Position]

_SET_ASIDE = {Doubt.MISSING, Doubt.UNDECLARED}


def flush_of(position: Position) -> Flush:
    """A position as what it says about sequence numbers."""
    writer = Writer(position.producer_id, position.producer_epoch) if position.producer_id >= 0 else None
    return Flush(position.offset + 1, position.target_offset, writer, position.sequence, position.leader_epoch)


def position_of(flush: Flush, topic_id: str, target_topic_id: str) -> Position:
    """The same the other way round."""
    writer = flush.writer or Writer(-1, -1)
    return Position(
        flush.next_offset - 1,
        flush.target_offset,
        topic_id,
        flush.leader_epoch,
        target_topic_id,
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        sequence=flush.next_sequence,
    )


@dataclass
class Unended:
    """What was found out."""

    written: dict[TopicPartition, Position] = field(default_factory=dict)
    positions: dict[TopicPartition, Position] = field(default_factory=dict)  # true ones
    unusable: dict[TopicPartition, str] = field(default_factory=dict)
    losses: dict[TopicPartition, Loss] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    progress: dict[int, list[PartitionProgress]] = field(default_factory=dict)  # by producer id


class Recovery:
    """Finds out what was left at the partitions that a lane wants."""

    def __init__(
        self,
        network: Network,
        plan: LanePlan,
        books: PlainBooks,
        read_positions: Callable[[], dict[TopicPartition, Position]],
        timeout_ms: int,
    ) -> None:
        self._network = network
        self._plan = plan
        self._books = books
        self._read_positions = read_positions
        self._timeout_ms = timeout_ms

    def run(self) -> Unended:
        """Lock out all others, and find out how far each partition is."""
        found = Unended()
        opened = self._lock_out_of_books()
        if opened:
            found.unusable.update(self._lock_out_of_data(opened))
        found.written = self._read_positions()
        found.positions = dict(found.written)
        wanted = [item for item in self._plan.assignments if item.source not in found.unusable]
        self._recover([item for item in wanted if item.source in opened], opened, found)
        if found.progress:
            self._write_runs(found.progress)
        return found

    # -- fences --------------------------------------------------------------------------------------------------

    def _opened(self) -> dict[TopicPartition, list[Note]]:
        found = {item.source: self._books.notes.about(item.source) for item in self._plan.assignments}
        return {source: some for source, some in found.items() if some}

    def _lock_out_of_books(self) -> dict[TopicPartition, list[Note]]:
        done = {self._plan.name}
        while True:
            opened = self._opened()
            others = {note.lane for some in opened.values() for note in some} - done
            if not others:
                return opened
            fence_books(self._network, sorted(others), self._books.partitions, self._timeout_ms)
            done |= others
            self._books.read()

    def _lock_out_of_data(self, opened: Mapping[TopicPartition, Sequence[Note]]) -> dict[TopicPartition, str]:
        """Source partitions where that is not possible, and why."""
        noted = [note for some in opened.values() for note in some]
        names = sorted({note.name for note in noted})
        fences: list[Fence] = []
        unusable: dict[TopicPartition, str] = {}
        for producer in take_all(self._network, names, self._timeout_ms):
            its = [note for note in noted if note.name == producer.transactional_id]
            fences.append(Fence(producer, frozenset(note.target for note in its)))
            unusable |= {note.source: why for note in its if (why := self._why_unfenced(note, producer))}
        unreachable = fence.put_up(self._network, fences)
        by_target = {item.target: item.source for item in self._plan.assignments}
        return unusable | {by_target[where]: why for where, why in unreachable.items() if where in by_target}

    def _why_unfenced(self, note: Note, producer: TransactionalProducer) -> str:
        """A coordinator forgets an id that nobody uses for a week, and gives it another producer id then.

        Such a fence keeps nobody out. But by then whoever wrote under the id has ended long since.
        """
        if producer.stamp.producer_id == note.declaration.writer.producer_id:
            return ""
        used = self._books.notes.used.get(note.lane, {}).get(note.name, 0)
        if int(time.time() * 1000) - used > REST_MS:
            return ""
        return f"the id {note.name} has got another producer id, so an earlier lane cannot be locked out for now"

    # -- tails ---------------------------------------------------------------------------------------------------

    def _recover(
        self, wanted: Collection[Assignment], opened: Mapping[TopicPartition, Sequence[Note]], found: Unended
    ) -> None:
        # A position that another mirror has written wins: it has mirrored on from there.
        signed = [
            item
            for item in wanted
            if (position := found.positions.get(item.source)) is not None and position.producer_id >= 0
        ]
        starts = {
            item.target: min(
                flushed(note, flush_of(found.positions[item.source])).target_offset for note in opened[item.source]
            )
            for item in signed
        }
        if not signed:
            return
        read = tails.read_tails(self._network, starts)
        compacted = _compacted(self._network.access, {where.topic for where in starts})
        for item in signed:
            self._recover_one(item, opened[item.source], read[item.target], item.target.topic in compacted, found)

    def _recover_one(
        self, item: Assignment, noted: Sequence[Note], tail: Tail, is_compacted: bool, found: Unended
    ) -> None:
        position = found.positions[item.source]
        known = flush_of(position)
        seen = [SeenBatch(b.base_offset, b.last_offset, Writer(*b[2:4]), b.sequence) for b in tail.batches]
        results: dict[Recovered, Note] = {}
        for note in noted:
            result = recover(flushed(note, known), note.declaration, seen, (tail.start, tail.end), is_compacted)
            results.setdefault(result, note)
        best = furthest(known, results)
        if best.doubt is not None:
            self._tell_doubt(item, position, best, tail, found)
            return
        if best.flush == known:
            return
        note = results[best]
        topic_id = note.declaration.topic_id
        found.positions[item.source] = position_of(best.flush, topic_id, position.target_topic_id)
        runs = recovered_runs(flushed(note, known), note.declaration, seen)
        if runs:
            behind = [batch for batch in tail.batches if batch.last_offset > flushed(note, known).target_offset]
            told = found.progress.setdefault(note.declaration.writer.producer_id, [])
            told.append(_progress(item, note, runs, behind, best.flush))

    def _tell_doubt(self, item: Assignment, position: Position, best: Recovered, tail: Tail, found: Unended) -> None:
        assert best.doubt is not None
        source, reason = item.source, f"{item.target}: {best.doubt.value}"
        if best.doubt in _SET_ASIDE:
            found.unusable[source] = reason
        elif best.doubt is Doubt.TRUNCATED:
            lost = min(tail.end, position.target_offset + 1)
            found.losses[source] = Loss(
                EventKind.TARGET_LOSS, lost, position.target_offset + 1, position.offset + 1, reason
            )
        else:
            again = f"{reason}; records from offset {best.flush.next_offset} on may be mirrored once more"
            found.events.append(Event(EventKind.REPEATED, source, best.flush.next_offset, -1, again))

    def _write_runs(self, progress: Mapping[int, Sequence[PartitionProgress]]) -> None:
        plan, now = self._plan, int(time.time() * 1000)
        told = [
            LedgerEntry(plan.flow, plan.lane, plan.owner, producer_id, now, tuple(some))
            for producer_id, some in progress.items()
        ]
        made = [entries.record(plan.flow, now, entries.encode_entry(entry)) for entry in told]
        self._books.write_and_wait({TopicPartition(plan.topics.ledger, 0): made})


def _compacted(access: Access, topics: Collection[str]) -> set[str]:
    """Those where a cleaner may take batches; one that we may not ask about counts as not compacted."""
    with Admin(access) as admin:
        settings = admin.topic_settings(sorted(topics))
    return {topic for topic, some in settings.items() if "compact" in (some["cleanup.policy"].value or "")}


def _progress(
    item: Assignment, note: Note, runs: Sequence[Run], tail: Sequence[TailBatch], flush: Flush
) -> PartitionProgress:
    writer = note.declaration.writer
    ours = [batch for batch in tail if Writer(batch.producer_id, batch.producer_epoch) == writer]
    times = [batch.newest_ms for batch in ours]
    return PartitionProgress(
        item.source,
        item.target,
        tuple(runs),
        flush.next_offset - 1,
        sum(batch.size for batch in ours),
        max(times),
        min(batch.oldest_ms for batch in ours),
        sum(times) // len(times),
    )


def end_declared(network: Network, plan: LanePlan, books: LaneBooks, settings: LaneSettings) -> Unended:
    """Before a lane writes in transactions: end what others have left open that wrote without them.

    What they have left is written down as their positions, and their declarations are deleted.
    """
    known = Notes()
    network.refresh([plan.topics.declarations])
    read_notes(network, plan.topics.declarations, known)
    if not any(known.about(item.source) for item in plan.assignments):
        return Unended()
    plain = PlainBooks(network, plan.name, plan.topics, plan.offsets_read_to)
    plain.take(settings.transaction_timeout_ms)
    found = Recovery(network, plan, plain, books.positions, settings.transaction_timeout_ms).run()
    settled = {item.source for item in plan.assignments} - found.unusable.keys()
    moved = {
        source: position
        for source, position in found.positions.items()
        if source in settled and position != found.written[source]
    }
    plain.write_and_wait(books.position_records(moved))
    sessions = [note.session for source in settled for note in plain.notes.about(source)]
    plain.write_and_wait(plain.of_ends(sessions, int(time.time() * 1000)))
    return found
