"""A lane that writes without transactions around its data, as the processes of the model run it.

The steps have the numbers that they have in docs/architecture.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, cast
from uuid import UUID

from heliograph.ledger.declarations import (
    Anchor,
    Declaration,
    Doubt,
    Flush,
    Recovered,
    Row,
    Writer,
    next_anchors,
    recover,
)
from heliograph.ledger.notes import REST_MS, Note, Notes, Session, choose_id, flushed, furthest
from heliograph.model import TopicPartition
from tests.sequences.brokers import EXPIRY_HOURS, Log, Refused
from tests.sequences.rules import Rules
from tests.sequences.world import LEASE, Answer, Lost, Record, Request, Steps, World

IDS = 3
NOTHING = Flush(0, -1)
TOPIC_ID = str(UUID(int=1))


# -- what the books say ------------------------------------------------------------------------------------


class Flushed(NamedTuple):
    """A record of the books: how far a partition is."""

    source: TopicPartition
    flush: Flush


class Ended(NamedTuple):
    """A record of the books: a session writes no more about a partition, and all that it wrote is flushed."""

    session: Session


class Used(NamedTuple):
    """A record of the books: when the ids of a lane were last used."""

    lane: str
    used: dict[str, int]


class Closed(NamedTuple):
    """A record of the books: the flow is closed."""


@dataclass
class Books:
    """What the books say at some offset."""

    end: int = 0
    notes: Notes = field(default_factory=Notes)
    flushes: dict[TopicPartition, Flush] = field(default_factory=dict)
    has_clean: set[TopicPartition] = field(default_factory=set)
    is_closed: bool = False

    def take(self, record: object, offset: int) -> None:
        """Take in a record."""
        if isinstance(record, Note):
            self.notes.take(offset, record)
        elif isinstance(record, Ended):
            self.notes.end_session(offset, record.session)
            self.has_clean.add(record.session.source)
        elif isinstance(record, Flushed):
            self.flushes[record.source] = record.flush
        elif isinstance(record, Used):
            self.notes.used[record.lane] = record.used
        elif isinstance(record, Closed):
            self.is_closed = True

    def opened(self, source: TopicPartition, rules: Rules) -> list[Note]:
        """Those notes under which somebody may be writing."""
        if not rules.clean_is_last and source in self.has_clean:
            return []
        return self.notes.about(source)


def read_books(log: Log) -> Books:
    """Everything that consumers may see."""
    books = Books(log.high_watermark)
    for entry in log.readable():
        for record in entry.records:
            books.take(record, entry.offset)
    return books


def place(number: int) -> TopicPartition:
    """A partition by its number, on either side."""
    return TopicPartition("topic", number)


class Stopped(Exception):
    """The lane has to end, or to begin anew."""


class Fenced(Stopped):
    """Somebody else has taken over."""


class Doubtful(Stopped):
    """Nobody knows whether something was written."""


@dataclass
class _Partition:
    """What a lane knows of a partition that it writes to, or has written to in this session."""

    number: int
    declaration: Declaration
    base: Flush
    flush: Flush
    next_offset: int  # of the source: to fetch
    next_sequence: int
    leader_epoch: int = -1
    seen: int = 0
    newest_stamp: float | None = None  # of what was acknowledged last
    flushed_sequence: int | None = None  # what lies before it is flushed
    in_flight: deque[tuple[int, tuple[Record, ...], int]] = field(default_factory=deque)
    is_ours: bool = True


class Lane:
    """One attempt to run a lane of the flow."""

    def __init__(self, world: World, name: str, partitions: list[int]) -> None:
        self.world = world
        self.rules = world.rules
        self.name = name
        self.wanted = partitions
        self.commands: deque[tuple[str, int]] = deque()
        self.is_idle = False
        self.step = ""
        self._books_writer = Writer(-1, -1)
        self._books_sequence = 0
        self._ids: dict[str, Writer] = {}
        self._mine: dict[int, _Partition] = {}
        self._data_name = ""
        self._used: dict[str, int] = {}
        self._checked = world.now
        self._again: list[tuple[_Partition, int, tuple[Record, ...], int]] = []

    @property
    def in_flight(self) -> int:
        """Batches that are not acknowledged."""
        return sum(len(mine.in_flight) for mine in self._mine.values())

    # -- talking with brokers ----------------------------------------------------------------------------

    def _ask(self, request: Request) -> Steps[object]:
        """Send a request and wait for its answer; what else comes in meanwhile is taken, too."""
        token = cast(int, (yield request))
        while True:
            answered, outcome = cast(Answer, (yield None))
            if answered == token:
                if isinstance(outcome, Exception):
                    raise outcome
                return outcome
            self._take_answer(answered, outcome)

    def _persist(self, request: Request) -> Steps[object]:
        """As `_ask`, for requests that can be repeated."""
        while True:
            try:
                return (yield from self._ask(request))
            except Lost:
                continue
            except Refused as error:
                if "FENCED" in str(error) or "EPOCH" in str(error):
                    raise Fenced from None

    def _take_answer(self, token: int, outcome: object) -> None:
        """A batch is acknowledged or not."""
        mine = next((p for p in self._mine.values() if any(sent[0] == token for sent in p.in_flight)), None)
        if mine is None:
            return  # an answer to an earlier session
        _, records, sequence = next(sent for sent in mine.in_flight if sent[0] == token)
        if isinstance(outcome, Lost) and not self.rules.new_epoch_after_doubt:
            self._again.append((mine, token, records, sequence))
            return
        if isinstance(outcome, Exception):
            raise Doubtful
        mine.in_flight = deque(sent for sent in mine.in_flight if sent[0] != token)
        mine.newest_stamp = min(record.stamp for record in records)
        if isinstance(outcome, int):
            last = outcome + len(records) - 1
            mine.flush = Flush(
                records[-1].offset + 1, last, mine.declaration.writer, sequence + len(records), records[-1].leader_epoch
            )

    # -- fences ------------------------------------------------------------------------------------------

    def _fence(self, name: str, logs: list[Log]) -> Steps[Writer]:
        """Nobody writes under an older epoch of this id to these partitions, from now on."""
        coordinator = self.world.coordinator
        while True:
            writer = cast(
                Writer, (yield from self._persist(Request("coordinator", partial(coordinator.initialise, name))))
            )
            self._ids[name] = writer
            if (yield from self._mark(name, writer, logs)):
                return writer

    def _mark(self, name: str, writer: Writer, logs: list[Log]) -> Steps[bool]:
        """Write markers by an empty transaction; whether all of them can be seen."""
        coordinator = self.world.coordinator
        if not logs:
            return True
        yield from self._persist(
            Request("coordinator", lambda: None, until=lambda _: not any(log.is_leaderless for log in logs))
        )
        yield from self._persist(Request("coordinator", partial(coordinator.abort, name, writer, logs)))
        if not self.rules.await_markers:
            return True
        yield from self._persist(
            Request("coordinator", lambda: None, until=lambda _: not coordinator.has_pending(name))
        )
        for log in logs:
            end = log.end
            yield from self._persist(
                Request("reader", lambda: None, until=lambda _, log=log, end=end: log.high_watermark >= end)
            )
        return all(log.has_marker(writer) for log in logs)

    def _fence_books(self, lane: str) -> Steps[Writer]:
        return (yield from self._fence(f"{lane}-books", [self.world.books]))

    # -- a session ---------------------------------------------------------------------------------------

    def run(self) -> Steps[None]:
        """Sessions, one after the other, until somebody else takes over or the lane has ended."""
        wanted = self.wanted
        while True:
            try:
                yield from self._session(wanted)
                return
            except Fenced:
                return
            except (Doubtful, Lost, Refused):
                wanted = [mine.number for mine in self._mine.values() if mine.is_ours] or wanted

    def _session(self, wanted: list[int]) -> Steps[None]:
        self._mine, self._ids, self._data_name, self._again = {}, {}, "", []
        if self.rules.fence_books:
            self._books_writer = yield from self._fence_books(self.name)
            self._books_sequence = 0
        books = yield from self._read_books()
        self._stop_if_closed(books)
        yield from self._take(wanted, books)
        yield from self._copy()

    def _read_books(self) -> Steps[Books]:
        return cast(Books, (yield from self._persist(Request("books", lambda: read_books(self.world.books)))))

    def _stop_if_closed(self, books: Books) -> None:
        if books.is_closed:
            raise Fenced

    def _take(self, wanted: list[int], books: Books) -> Steps[None]:
        """Take partitions: fence whoever has them open, find out how far they are, and declare."""
        self.step = "fence"
        books = yield from self._fence_others(wanted, books)
        self._stop_if_closed(books)
        yield from self._fence_own(wanted, books)
        recovered: dict[int, Recovered] = {}
        for number in wanted:
            recovered[number] = yield from self._recover(number, books)
        taken = [number for number in wanted if self._is_sure(number, recovered[number])]
        self.step = "declare"
        yield from self._declare({number: recovered[number].flush for number in taken}, books.end)
        if self.rules.look_back:
            later = yield from self._read_books()
            self._stop_if_closed(later)
            writer = self._ids[self._data_name]
            if later.notes.others_since(books.end, [place(number) for number in taken], writer):
                raise Doubtful
        yield from self._settle_past(taken, books)

    def _settle_past(self, taken: list[int], books: Books) -> Steps[None]:
        """Before anything leaves: how far partitions are is written down where that was found out, or nobody has yet.

        Then the notes go that ours have replaced.
        """
        news = [
            Flushed(place(number), self._signed(self._mine[number]))
            for number in taken
            if self._differs(self._mine[number].flush, books.flushes.get(place(number)))
        ]
        yield from self._write(news)
        yield from self._write([Ended(note.session) for number in taken for note in books.notes.about(place(number))])

    def _differs(self, flush: Flush, known: Flush | None) -> bool:
        return known is None or known.writer is None or known != flush

    def _signed(self, mine: _Partition) -> Flush:
        """Under our own name if nobody else's is there."""
        if mine.flush.writer is not None:
            return mine.flush
        return mine.flush._replace(writer=mine.declaration.writer, next_sequence=0)

    def _is_sure(self, number: int, found: Recovered) -> bool:
        if found.doubt is None:
            return True
        self.world.report(number, found.doubt.value)
        if found.doubt is Doubt.REMOVED:
            self.world.allow_repeats(number, found.flush.next_offset)
            return True
        return False

    def _fence_others(self, wanted: list[int], books: Books) -> Steps[Books]:
        """First the books of whoever has a partition open, then, when nothing more can be declared, its data."""
        done: set[str] = set()
        while True:
            opened = [note for number in wanted for note in books.opened(place(number), self.rules)]
            others = {note.lane for note in opened if note.lane != self.name} - done
            if not others:
                break
            for other in sorted(others):
                if self.rules.fence_books:
                    yield from self._fence_books(other)
                done.add(other)
            books = yield from self._read_books()
        for name in sorted({note.name for note in opened if note.lane != self.name}):
            numbers = [note.source.partition for note in opened if note.name == name]
            yield from self._fence(name, [self.world.targets[number] for number in numbers])
        return books

    def _fence_own(self, wanted: list[int], books: Books) -> Steps[None]:
        """The id that was unused longest is taken; and what earlier sessions of this lane have left open is fenced.

        Its marker makes brokers refuse what follows, should they lose all that was written after it.
        """
        if not self._data_name:
            used = books.notes.used.get(self.name, {})
            rest = REST_MS if self.rules.rest_before_reuse else 0
            first = IDS if self.rules.rotate_ids else 1
            self._data_name = choose_id(self.name, used, self.world.now_ms, rest, first)
            if not self.rules.rotate_ids:
                self._data_name = f"{self.name}d0"
            self._ids[self._data_name] = yield from self._fence(self._data_name, self._untouched(wanted))
            self._used = self._now_used(used)
        else:
            while not (yield from self._mark(self._data_name, self._ids[self._data_name], self._untouched(wanted))):
                pass
        opened = [note for number in wanted for note in books.opened(place(number), self.rules)]
        names = {note.name for note in opened if note.lane == self.name and note.name != self._data_name}
        for name in sorted(names):
            numbers = [note.source.partition for note in opened if note.name == name]
            yield from self._fence(name, [self.world.targets[number] for number in numbers])

    def _untouched(self, wanted: list[int]) -> list[Log]:
        """Those that this session has not written to yet."""
        return [self.world.targets[number] for number in wanted if number not in self._mine]

    def _now_used(self, used: dict[str, int]) -> dict[str, int]:
        """The id of the session before may have been in use until now."""
        latest = max(used, key=lambda name: used[name], default=None)
        now = self.world.now_ms
        return used | ({latest: now} if latest is not None else {}) | {self._data_name: now}

    def _recover(self, number: int, books: Books) -> Steps[Recovered]:
        """How far a partition is."""
        position = books.flushes.get(place(number), NOTHING)
        opened = books.opened(place(number), self.rules) if position.writer is not None else []
        if not self.rules.read_tails:
            return Recovered(position)
        found: list[Recovered] = []
        for note in opened:
            flush = flushed(note, position)
            if not self.rules.declare_ahead:
                found.append(Recovered((yield from self._count(number, note, flush))))
            else:
                found.append((yield from self._tail(number, flush, note.declaration)))
        if not opened:  # the target may have lost the end of it since
            found.append((yield from self._tail(number, position, None)))
        return furthest(position, found)

    def _tail(self, number: int, flush: Flush, declared: Declaration | None) -> Steps[Recovered]:
        log = self.world.targets[number]

        def read() -> Recovered:
            tail = [entry.seen for entry in log.readable() if not entry.is_marker]
            return recover(flush, declared, tail, (log.start, log.high_watermark), self.world.is_compacted)

        return cast(Recovered, (yield from self._persist(Request(f"target-{number}", read))))

    def _count(self, number: int, note: Note, flush: Flush) -> Steps[Flush]:
        """The naive way: count what the writer has appended, and walk as far over the source as it is now."""
        log, source = self.world.targets[number], self.world.sources[number]

        def walk() -> Flush:
            tail = [
                entry for entry in log.readable() if entry.writer == note.declaration.writer and not entry.is_marker
            ]
            count = sum(entry.length for entry in tail if entry.offset > flush.target_offset)
            ahead = [record for record in source.records if record.offset >= flush.next_offset]
            if not count:
                return flush
            return Flush(ahead[min(count, len(ahead)) - 1].offset + 1 if ahead else source.end, tail[-1].last_offset)

        return cast(Flush, (yield from self._persist(Request(f"target-{number}", walk))))

    # -- the books ---------------------------------------------------------------------------------------

    def _write(self, written: Sequence[Hashable]) -> Steps[None]:
        """Write to the books, and wait until that is safe."""
        if not written:
            return
        books = self.world.books

        def append() -> int:
            if not self.rules.fence_books:
                return books.append_plain(tuple(written), self.world.now)
            return books.append(self._books_writer, self._books_sequence, tuple(written), self.world.now)

        try:
            yield from self._ask(
                Request("books", append, until=lambda offset: books.high_watermark > cast(int, offset))
            )
        except Refused as error:
            raise (Doubtful if "NOT_LEADER" in str(error) or "SEQUENCE" in str(error) else Fenced) from None
        except Lost:
            raise Doubtful from None
        self._books_sequence += len(written)

    def _note(self, mine: _Partition) -> Note:
        where = place(mine.number)
        return Note(where, where, self.name, self._data_name, mine.declaration, mine.base, mine.seen)

    def _declare(self, flushes: dict[int, Flush], seen: int) -> Steps[None]:
        """The first declaration of a session for its partitions."""
        writer = self._ids[self._data_name]
        for number, flush in flushes.items():
            known = self._mine.get(number)
            sequence = known.next_sequence if known is not None and self.rules.keep_sequences else 0
            declaration = Declaration(writer, TOPIC_ID, (Anchor(sequence, flush.next_offset, flush.leader_epoch),))
            stamp = known.newest_stamp if known is not None else None
            self._mine[number] = _Partition(
                number, declaration, flush, flush, flush.next_offset, sequence, flush.leader_epoch, seen, stamp
            )
        yield from self._write([Used(self.name, self._used), *(self._note(self._mine[number]) for number in flushes)])

    # -- copying -----------------------------------------------------------------------------------------

    def _copy(self) -> Steps[None]:
        while True:
            self.step = "copy"
            while self.commands:
                command, number = self.commands.popleft()
                if command == "end":
                    yield from self._end()
                    return
                yield from self._obey(command, number)
            yield from self._send_again()
            sent = False
            for mine in list(self._mine.values()):
                if mine.is_ours and self._may_send(mine):
                    sent |= yield from self._send(mine)
            if not sent:
                self.is_idle = not any(mine.in_flight for mine in self._mine.values())
                yield from self._wait()
                self.is_idle = False

    def _wait(self) -> Steps[None]:
        if any(mine.in_flight for mine in self._mine.values()):
            answered, outcome = cast(Answer, (yield None))
            self._take_answer(answered, outcome)
        else:
            yield from self._persist(Request("clock", lambda: None))
            yield from self._hold_lease()

    def _may_send(self, mine: _Partition) -> bool:
        if not mine.in_flight:
            return True
        if not self.rules.one_by_one_when_old:
            return len(mine.in_flight) < 3
        age = self.world.now - (mine.newest_stamp if mine.newest_stamp is not None else 0.0)
        young = all(self.world.now - r.stamp < EXPIRY_HOURS / 2 for _, batch, _ in mine.in_flight for r in batch)
        return len(mine.in_flight) < 3 and age < EXPIRY_HOURS / 2 and young

    def _hold_lease(self) -> Steps[None]:
        """Ask whether the id is still ours, before anything is sent after a while."""
        if not self.rules.lease or self.world.now - self._checked <= LEASE:
            return
        name = self._data_name
        ask = Request("coordinator", lambda: self.world.coordinator.is_current(name, self._ids[name]))
        is_ours = yield from self._persist(ask)
        self._checked = self.world.now
        if not is_ours:
            raise Fenced

    def _send(self, mine: _Partition) -> Steps[bool]:
        """Fetch, declare what is not dense, and send."""
        source = self.world.sources[mine.number]

        def fetch() -> tuple[Record, ...]:
            if mine.leader_epoch >= 0 and source.end_of(mine.leader_epoch) < mine.next_offset:
                raise Refused("DIVERGED")
            return tuple(record for record in source.records if record.offset >= mine.next_offset)[:2]

        try:
            records = cast(tuple[Record, ...], (yield from self._ask(Request(f"source-{mine.number}", fetch))))
        except Refused:
            self.world.report(mine.number, "the source was truncated")
            mine.is_ours = False
            return False
        if not records:
            return False
        following = Anchor(mine.next_sequence, mine.next_offset, mine.leader_epoch)
        anchors, _ = next_anchors(following, (Row(record.offset, 1, record.leader_epoch) for record in records))
        if anchors:
            mine.declaration = mine.declaration.with_anchors(anchors)
            if mine.flushed_sequence is not None:
                mine.declaration = mine.declaration.since(mine.flushed_sequence)
            yield from self._write([self._note(mine)])
        yield from self._hold_lease()
        if mine.in_flight and not self._may_send(mine):
            return False
        token = cast(int, (yield self._append(mine, records, mine.next_sequence)))
        mine.in_flight.append((token, records, mine.next_sequence))
        mine.next_offset = records[-1].offset + 1
        mine.leader_epoch = records[-1].leader_epoch
        mine.next_sequence += len(records)
        return True

    def _append(self, mine: _Partition, records: tuple[Record, ...], sequence: int) -> Request:
        number, writer = mine.number, mine.declaration.writer
        log, last = self.world.targets[number], len(records) - 1
        return Request(
            f"target-{number}",
            partial(self.world.append, number, writer, sequence, records),
            until=lambda offset: log.high_watermark > cast(int, offset) + last,
        )

    def _send_again(self) -> Steps[None]:
        """The same batches with the same sequence numbers, as if brokers never forgot."""
        while self._again:
            mine, before, records, sequence = self._again.pop(0)
            token = cast(int, (yield self._append(mine, records, sequence)))
            mine.in_flight = deque((token, *sent[1:]) if sent[0] == before else sent for sent in mine.in_flight)

    def _settle(self, mine: _Partition) -> Steps[None]:
        while mine.in_flight:
            yield from self._send_again()
            answered, outcome = cast(Answer, (yield None))
            self._take_answer(answered, outcome)

    def _obey(self, command: str, number: int) -> Steps[None]:
        mine = self._mine.get(number)
        if command == "flush":
            yield from self._flush([mine for mine in self._mine.values() if mine.is_ours])
        elif command == "give" and mine is not None and mine.is_ours:
            yield from self._settle(mine)
            mine.is_ours = False
            yield from self._end_well([mine])
        elif command == "take" and (mine is None or not mine.is_ours):
            yield from self._take([number], (yield from self._read_books()))

    def _flush(self, some: list[_Partition]) -> Steps[None]:
        flushes = [mine.flush for mine in some]
        yield from self._write([Flushed(place(mine.number), self._signed(mine)) for mine in some])
        for mine, flush in zip(some, flushes, strict=True):
            if flush.writer == mine.declaration.writer:
                mine.flushed_sequence = flush.next_sequence

    def _end_well(self, some: list[_Partition]) -> Steps[None]:
        """A clean end: everything is acknowledged, and the books say so."""
        yield from self._flush(some)
        yield from self._write([Ended(self._note(mine).session) for mine in some])

    def _end(self) -> Steps[None]:
        for mine in self._mine.values():
            yield from self._settle(mine)
        yield from self._end_well([mine for mine in self._mine.values() if mine.is_ours])

    # -- closing the flow --------------------------------------------------------------------------------

    def close(self, lanes: list[str]) -> Steps[None]:
        """End the flow for good: nothing is written to its target afterwards."""
        while True:
            try:
                yield from self._close(lanes)
                return
            except (Doubtful, Lost, Refused):
                continue

    def _close(self, lanes: list[str]) -> Steps[None]:
        world = self.world
        if self.rules.fence_books:
            self._books_writer = yield from self._fence_books(self.name)
            self._books_sequence = 0
        yield from self._write([Closed()])
        books = yield from self._read_books()
        if not self.rules.mark_when_closing:
            for name in sorted(name for used in books.notes.used.values() for name in used):
                yield from self._persist(Request("coordinator", partial(world.coordinator.initialise, name)))
        else:
            for lane in lanes:
                yield from self._fence_books(lane)
            numbers = list(range(len(world.targets)))
            yield from self._fence_others(numbers, (yield from self._read_books()))
        world.is_closed = True
