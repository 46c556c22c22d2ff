"""A lane that writes without transactions around its data, as the processes of the model run it.

The steps have the numbers that they have in docs/architecture.md.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from heliograph.ledger.declarations import Anchor, Declaration, Doubt, Flush, Recovered, Writer, recover
from tests.sequences.brokers import EXPIRY_HOURS, Log, Refused
from tests.sequences.rules import Rules
from tests.sequences.world import LEASE, REST, Answer, Lost, Record, Request, Steps, World

IDS = 3
EVERYTHING = -1  # instead of a partition: the flow is closed
NOTHING = Flush(0, -1)


# -- what the books say ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    """A record of the books about one partition: how far it is, and who is going to write, or has ended to."""

    partition: int
    lane: str
    name: str  # of the transactional id that writes
    flush: Flush
    declaration: Declaration | None
    is_clean: bool
    written: float
    seen: int = 0  # how far its writer had read the books when it declared

    @property
    def session(self) -> tuple[str, Writer | None]:
        """What all notes of one session have in common."""
        return self.name, self.declaration.writer if self.declaration else None


@dataclass
class Books:
    """What the books say at some offset.

    Of each partition the notes count whose writers no later one has seen: one, as a rule. Two if both declared
    without knowing of each other; then at most one of them has written, for whoever comes second looks back.
    """

    end: int = 0
    notes: dict[int, dict[tuple[str, Writer | None], tuple[int, Note]]] = field(default_factory=dict)
    has_clean: set[int] = field(default_factory=set)
    used: dict[str, float] = field(default_factory=dict)
    written: list[tuple[int, int, Writer]] = field(default_factory=list)  # at which offset, about which partition

    def take(self, note: Note, offset: int, writer: Writer) -> None:
        """A note replaces those that its writer had seen, and its own earlier ones."""
        self.written.append((offset, note.partition, writer))
        known = self.notes.get(note.partition, {})
        self.notes[note.partition] = {
            session: (at, other) for session, (at, other) in known.items() if at >= note.seen
        } | {note.session: (offset, note)}
        self.used[note.name] = note.written
        if note.is_clean:
            self.has_clean.add(note.partition)

    def of(self, partition: int) -> list[Note]:
        """The notes that count."""
        return [note for _, note in self.notes.get(partition, {}).values()]

    def opened(self, partition: int, rules: Rules) -> list[Note]:
        """Those under which somebody may be writing."""
        if not rules.clean_is_last and partition in self.has_clean:
            return []
        return [note for note in self.of(partition) if not note.is_clean]


def read_books(log: Log) -> Books:
    """Everything that consumers may see."""
    books = Books(log.high_watermark)
    for entry in log.readable():
        for note in entry.records:
            books.take(cast(Note, note), entry.offset, entry.writer)
    return books


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
    flush: Flush
    next_offset: int  # of the source: to fetch
    next_sequence: int
    leader_epoch: int = -1
    seen: int = 0
    newest_stamp: float | None = None  # of what was acknowledged last
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
        if EVERYTHING in books.notes:
            raise Fenced

    def _take(self, wanted: list[int], books: Books) -> Steps[None]:
        """Take partitions: fence whoever has them open, find out how far they are, and declare."""
        while True:
            self.step = "fence"
            books = yield from self._fence_others(wanted, books)
            self._stop_if_closed(books)
            yield from self._fence_own(wanted, books)
            recovered: dict[int, Recovered] = {}
            for number in wanted:
                recovered[number] = yield from self._recover(number, books)
            taken = [number for number in wanted if self._is_sure(number, recovered[number])]
            seen = books.end
            self.step = "declare"
            yield from self._declare({number: recovered[number].flush for number in taken}, seen)
            if not self.rules.look_back:
                return
            books = yield from self._read_books()
            self._stop_if_closed(books)
            if not self._others_since(seen, taken, books):
                return

    def _others_since(self, seen: int, taken: list[int], books: Books) -> bool:
        """Whether somebody else has written about the same partitions, between what was read and what was declared."""
        return any(
            offset >= seen and partition in taken and writer != self._books_writer
            for offset, partition, writer in books.written
        )

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
            opened = [note for number in wanted for note in books.opened(number, self.rules)]
            others = {note.lane for note in opened if note.lane != self.name} - done
            if not others:
                break
            for other in sorted(others):
                if self.rules.fence_books:
                    yield from self._fence_books(other)
                done.add(other)
            books = yield from self._read_books()
        for name in sorted({note.name for note in opened if note.lane != self.name}):
            numbers = [note.partition for note in opened if note.name == name]
            yield from self._fence(name, [self.world.targets[number] for number in numbers])
        return books

    def _fence_own(self, wanted: list[int], books: Books) -> Steps[None]:
        """All ids of this lane on all its partitions; the one unused longest is written under."""
        targets = self.world.targets
        if self._data_name:  # a session goes on, and takes more
            fresh = [number for number in wanted if number not in self._mine]
            for name, writer in list(self._ids.items()):
                if name == self._data_name:
                    while not (yield from self._mark(name, writer, [targets[number] for number in fresh])):
                        pass
                elif "data" in name and name.startswith(self.name):
                    yield from self._fence(name, [targets[number] for number in fresh])
            return
        names = [f"{self.name}-data-{number}" for number in range(IDS if self.rules.rotate_ids else 1)]
        names += [name for name in sorted(books.used) if name.startswith(f"{self.name}-data") and name not in names]
        chosen = min(names, key=lambda name: books.used.get(name, -1.0))
        if self.rules.rotate_ids and self.rules.rest_before_reuse:
            used = books.used.get(chosen)
            if used is not None and self.world.now - used < REST:
                chosen = f"{self.name}-data-{len(names)}"
                names.append(chosen)
        for name in names:
            yield from self._fence(name, [targets[number] for number in wanted])
        self._data_name = chosen

    def _recover(self, number: int, books: Books) -> Steps[Recovered]:
        """How far a partition is."""
        log = self.world.targets[number]
        notes = books.of(number)
        if not notes:
            return Recovered(NOTHING)
        opened = books.opened(number, self.rules)
        found: list[Recovered] = []
        for note in notes:
            if not self.rules.read_tails:
                found.append(Recovered(note.flush))
            elif note not in opened:  # the target may have lost the end of it since
                read_tail = partial(self._read_tail, log, replace(note, declaration=None))
                found.append(cast(Recovered, (yield from self._persist(Request(f"target-{number}", read_tail)))))
            elif not self.rules.declare_ahead:
                found.append(Recovered((yield from self._count(note))))
            else:
                read_tail = partial(self._read_tail, log, note)
                found.append(cast(Recovered, (yield from self._persist(Request(f"target-{number}", read_tail)))))
        return max(found, key=lambda item: (item.flush.next_offset, item.doubt is not None))

    def _read_tail(self, log: Log, note: Note) -> Recovered:
        tail = [entry.seen for entry in log.readable() if not entry.is_marker]
        bounds = (log.start, log.high_watermark)
        return recover(note.flush, note.declaration, tail, bounds, self.world.is_compacted)

    def _count(self, note: Note) -> Steps[Flush]:
        """The naive way: count what the writer has appended, and walk as far over the source as it is now."""
        log, source = self.world.targets[note.partition], self.world.sources[note.partition]

        def walk() -> Flush:
            assert note.declaration is not None
            tail = [
                entry for entry in log.readable() if entry.writer == note.declaration.writer and not entry.is_marker
            ]
            count = sum(entry.length for entry in tail if entry.offset > note.flush.target_offset)
            ahead = [record for record in source.records if record.offset >= note.flush.next_offset]
            if not count:
                return note.flush
            return Flush(ahead[min(count, len(ahead)) - 1].offset + 1 if ahead else source.end, tail[-1].last_offset)

        return cast(Flush, (yield from self._persist(Request(f"target-{note.partition}", walk))))

    # -- the books ---------------------------------------------------------------------------------------

    def _write(self, notes: list[Note]) -> Steps[None]:
        """Write to the books, and wait until that is safe."""
        if not notes:
            return
        books = self.world.books

        def append() -> int:
            if not self.rules.fence_books:
                return books.append_plain(tuple(notes), self.world.now)
            return books.append(self._books_writer, self._books_sequence, tuple(notes), self.world.now)

        try:
            yield from self._ask(
                Request("books", append, until=lambda offset: books.high_watermark > cast(int, offset))
            )
        except Refused as error:
            raise (Doubtful if "NOT_LEADER" in str(error) or "SEQUENCE" in str(error) else Fenced) from None
        except Lost:
            raise Doubtful from None
        self._books_sequence += len(notes)

    def _note(self, mine: _Partition, is_clean: bool = False) -> Note:
        return Note(
            mine.number, self.name, self._data_name, mine.flush, mine.declaration, is_clean, self.world.now, mine.seen
        )

    def _declare(self, flushes: dict[int, Flush], seen: int) -> Steps[None]:
        """The first declaration of a session for its partitions."""
        writer = self._ids[self._data_name]
        for number, flush in flushes.items():
            known = self._mine.get(number)
            sequence = known.next_sequence if known is not None and self.rules.keep_sequences else 0
            declaration = Declaration(writer, "topic", (Anchor(sequence, flush.next_offset, flush.leader_epoch),))
            stamp = known.newest_stamp if known is not None else None
            self._mine[number] = _Partition(
                number, declaration, flush, flush.next_offset, sequence, flush.leader_epoch, seen, stamp
            )
        yield from self._write([self._note(self._mine[number]) for number in flushes])

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
        anchors = _anchors(mine, records)
        if anchors:
            mine.declaration = mine.declaration.with_anchors(anchors)
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
            yield from self._write([self._note(mine) for mine in self._mine.values() if mine.is_ours])
        elif command == "give" and mine is not None and mine.is_ours:
            yield from self._settle(mine)
            mine.is_ours = False
            yield from self._write([self._note(mine, is_clean=True)])
        elif command == "take" and (mine is None or not mine.is_ours):
            yield from self._take([number], (yield from self._read_books()))

    def _end(self) -> Steps[None]:
        """A clean end: everything is acknowledged, and the books say so."""
        for mine in self._mine.values():
            yield from self._settle(mine)
        yield from self._write([self._note(mine, is_clean=True) for mine in self._mine.values() if mine.is_ours])

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
        last = Note(EVERYTHING, self.name, "", NOTHING, None, is_clean=True, written=world.now)
        yield from self._write([last])
        books = yield from self._read_books()
        if not self.rules.mark_when_closing:
            for name in sorted(books.used):
                yield from self._persist(Request("coordinator", partial(world.coordinator.initialise, name)))
        else:
            for lane in lanes:
                yield from self._fence_books(lane)
            numbers = list(range(len(world.targets)))
            yield from self._fence_others(numbers, (yield from self._read_books()))
        world.is_closed = True


def _anchors(mine: _Partition, records: tuple[Record, ...]) -> list[Anchor]:
    """What has to be declared before these records leave: where they do not follow each other."""
    expected, epoch, anchors = mine.next_offset, mine.leader_epoch, []
    for index, record in enumerate(records):
        if record.offset != expected or record.leader_epoch != epoch:
            anchors.append(Anchor(mine.next_sequence + index, record.offset, record.leader_epoch))
        expected, epoch = record.offset + 1, record.leader_epoch
    return anchors
