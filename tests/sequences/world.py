"""A source, a target and processes that talk with it over connections, one step at a time.

A process is a generator. It yields a request to send it, and None to wait for an answer. The world decides when a
request arrives, when its answer is read, which process is frozen (it is not stepped) or killed, and how time passes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from heliograph.ledger.declarations import Writer
from tests.sequences.brokers import Coordinator, Log, Refused
from tests.sequences.rules import Rules

MINUTE = 1 / 60
IDLE = 10 * MINUTE  # brokers close connections that are silent for longer
LEASE = MINUTE / 6


class Lost(Exception):
    """The connection broke; nobody knows whether the request arrived."""


class Violation(AssertionError):
    """The target is not what the source was."""


class Record(NamedTuple):
    """A record of the source. Its identity is its place in history, for offsets can be taken again."""

    offset: int
    identity: int
    stamp: float
    leader_epoch: int = 0


@dataclass
class Source:
    """A partition of the source."""

    records: list[Record] = field(default_factory=list)
    end: int = 0
    leader_epoch: int = 0
    epoch_starts: dict[int, int] = field(default_factory=lambda: {0: 0})

    def end_of(self, leader_epoch: int) -> int:
        """Where a leader epoch ended (OffsetsForLeaderEpoch)."""
        later = [start for epoch, start in self.epoch_starts.items() if epoch > leader_epoch]
        return min(later, default=self.end)

    def truncate(self, offset: int) -> None:
        """A leader is elected that lacks the newest records."""
        self.records = [record for record in self.records if record.offset < offset]
        self.end = min(self.end, offset)
        self.leader_epoch += 1
        self.epoch_starts = {epoch: start for epoch, start in self.epoch_starts.items() if start < self.end}
        self.epoch_starts[self.leader_epoch] = self.end


@dataclass(frozen=True)
class Request:
    """What a process asks a broker: `action` is done when it arrives, and answered once `until` holds."""

    connection: str
    action: Callable[[], object]
    until: Callable[[object], bool] = lambda _: True


T = TypeVar("T")
Answer = tuple[int, object]  # which request, and what came of it: a value, or what was refused or lost
Steps = Generator[Request | None, int | Answer, T]


@dataclass
class _Sent:
    token: int
    request: Request
    has_arrived: bool = False
    outcome: object = None


class Process:
    """A process with what it has sent and not read the answer of."""

    def __init__(self, world: World, name: str, steps: Steps[None]) -> None:
        self.name = name
        self.has_ended = False
        self.failure: Exception | None = None
        self._world = world
        self._steps = steps
        self._sent: list[_Sent] = []
        self._tokens = 0
        self._heard = world.now
        self._run(None)

    def _run(self, answer: Answer | None) -> None:
        try:
            wanted = self._steps.send(answer) if answer is not None else next(self._steps)
            while wanted is not None:
                self._heard = self._world.now
                self._tokens += 1
                self._sent.append(_Sent(self._tokens, wanted))
                wanted = self._steps.send(self._tokens)
        except StopIteration:
            self.has_ended = True
        except Violation:
            raise
        except Exception as error:
            self.has_ended, self.failure = True, error

    @property
    def connections(self) -> list[str]:
        """Those on which a request is on its way."""
        return list(dict.fromkeys(sent.request.connection for sent in self._sent if not sent.has_arrived))

    def deliver(self, connection: str) -> None:
        """The oldest request of a connection arrives."""
        self._expire()
        waiting = (sent for sent in self._sent if not sent.has_arrived and sent.request.connection == connection)
        sent = next(waiting, None)
        if sent is not None:
            sent.has_arrived = True
            try:
                sent.outcome = sent.request.action()
            except Refused as error:
                sent.outcome = error

    def _expire(self) -> None:
        """A connection that is silent for too long is closed, with what is on its way."""
        if self._world.now - self._heard > IDLE:
            self.disconnect()

    def disconnect(self) -> None:
        """All connections break. What has not arrived never does."""
        for sent in self._sent:
            sent.has_arrived, sent.outcome = True, Lost()

    def _first_answered(self) -> _Sent | None:
        seen: set[str] = set()
        for sent in self._sent:
            if sent.request.connection in seen:
                continue
            seen.add(sent.request.connection)
            if sent.has_arrived and (isinstance(sent.outcome, Exception) or sent.request.until(sent.outcome)):
                return sent
        return None

    def read(self) -> bool:
        """Read an answer, if there is one, and go on until the next is needed."""
        if self.has_ended:
            return False
        self._expire()
        sent = self._first_answered()
        if sent is None:
            return False
        self._sent.remove(sent)
        self._run((sent.token, sent.outcome))
        return True

    def kill(self) -> None:
        """End at once. What was sent may still arrive."""
        self.has_ended = True


class World:
    """Both clusters, the clock, and the oracle."""

    def __init__(self, rules: Rules, partitions: int, is_compacted: bool = False) -> None:
        self.rules = rules
        self.is_compacted = is_compacted
        self.now = 1000.0
        self.sources = [Source() for _ in range(partitions)]
        self.targets = [Log() for _ in range(partitions)]
        self.books = Log()
        self.coordinator = Coordinator(lambda: self.now)
        self.processes: list[Process] = []
        self.is_closed = False
        self.events: list[tuple[int, str]] = []
        self._identities = 0
        self._lost_at: dict[int, int] = {}
        self._mirrored: list[list[tuple[int, tuple[Record, ...]]]] = [[] for _ in range(partitions)]

    @property
    def now_ms(self) -> int:
        """The same clock in milliseconds."""
        return int(self.now * 3_600_000)

    # -- the source --------------------------------------------------------------------------------------

    def produce(self, partition: int, count: int, gap: int, age: float) -> None:
        """Append records to the source; a gap is what a transaction's marker or compaction leaves."""
        source = self.sources[partition]
        source.end += gap
        for _ in range(count):
            self._identities += 1
            source.records.append(Record(source.end, self._identities, self.now - age, source.leader_epoch))
            source.end += 1

    def compact_source(self, partition: int, keep_last: int) -> None:
        """The cleaner takes every other record, but none of the last."""
        source = self.sources[partition]
        head = len(source.records) - keep_last
        source.records = [record for index, record in enumerate(source.records) if index >= head or index % 2]

    # -- the target --------------------------------------------------------------------------------------

    def append(self, partition: int, writer: Writer, sequence: int, records: tuple[Record, ...]) -> int:
        """Take a batch of a lane on the target, and hold it against the oracle if it is new there."""
        log = self.targets[partition]
        end = log.end
        offset = log.append(writer, sequence, records, min(record.stamp for record in records))
        if offset == end:
            self._check(partition, records)
            self._mirrored[partition].append((offset, records))
        return offset

    def _check(self, partition: int, records: tuple[Record, ...]) -> None:
        """Every record of the source once, in its order, and nothing after a flow was closed."""
        if self.is_closed:
            raise Violation(f"partition {partition} was written to after its flow was closed: {records}")
        last = max((record.identity for record in self.mirrored(partition)), default=0)
        for record in records:
            if record.identity <= last:
                raise Violation(f"partition {partition} has {record} again or out of order")
            between = [known for known in self.sources[partition].records if last < known.identity < record.identity]
            if between:
                raise Violation(f"partition {partition} has {record} before {between[0]}")
            last = record.identity

    def mirrored(self, partition: int) -> list[Record]:
        """What a target partition has been given and has not lost, whatever was deleted since."""
        return [record for _, records in self._mirrored[partition] for record in records]

    def fail_over(self, partition: int) -> None:
        """Another broker leads a target partition, without what only the first one had."""
        log = self.targets[partition]
        log.fail_over()
        self._mirrored[partition] = [kept for kept in self._mirrored[partition] if kept[0] < log.end]

    def truncate_target(self, partition: int) -> None:
        """A broker leads that lacks the last batch that was acknowledged.

        One that lacks a marker undoes a fence: where brokers forget what they have acknowledged, nobody is kept out.
        """
        log = self.targets[partition]
        if log.entries and not log.entries[-1].is_marker and log.high_watermark == log.end:
            log.high_watermark -= 1
            self.fail_over(partition)
            self._lost_at[partition] = log.end

    def delete_before(self, partition: int, offset: int) -> None:
        """Retention. If it takes the place where the target has lost something, nobody can see that any more."""
        log = self.targets[partition]
        log.delete_before(offset)
        if log.start > self._lost_at.get(partition, log.start):
            self.report(partition, "the evidence of a loss is gone")

    def allow_repeats(self, partition: int, offset: int) -> None:
        """A lane has reported that it repeats from here, because nothing tells how far the last one came."""
        self._mirrored[partition] = [
            (start, tuple(record for record in records if record.offset < offset))
            for start, records in self._mirrored[partition]
        ]

    def report(self, partition: int, what: str) -> None:
        """A lane tells people of something that is lost or repeated."""
        self.events.append((partition, what))

    # -- processes ---------------------------------------------------------------------------------------

    def start(self, name: str, steps: Steps[None]) -> Process:
        """A new process."""
        process = Process(self, name, steps)
        self.processes.append(process)
        return process

    def settle(
        self, process: Process, is_done: Callable[[], bool], rounds: int = 300, with_markers: bool = True
    ) -> None:
        """Let a process go on with healthy brokers until it is done; markers can be left unwritten."""
        for _ in range(rounds):
            self.heal(with_markers)
            for connection in process.connections:
                process.deliver(connection)
            self.heal(with_markers)
            if not process.read() and not process.connections:
                return
            if process.has_ended or is_done():
                return

    def heal(self, with_markers: bool = True) -> None:
        """Every broker is there, and followers have everything."""
        for log in [self.books, *self.targets]:
            log.is_slow = log.is_leaderless = False
        if with_markers:
            self.coordinator.write_markers()
        for log in [self.books, *self.targets]:
            log.replicate()
