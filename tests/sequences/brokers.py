"""A target cluster on paper: logs, what brokers know of producers, and a coordinator of transactional ids.

Each rule is that of Kafka's own code (ProducerAppendInfo, ProducerStateManager, TransactionCoordinator), in as far as
plain idempotent batches and empty transactions meet it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.ledger.declarations import SEQUENCES, SeenBatch, Writer

EXPIRY_HOURS = 24.0
NOBODY = Writer(-1, -1)
_REMEMBERED = 5  # batches of each producer and partition, by which brokers know what they have taken already


class Refused(Exception):
    """A broker's answer that is an error."""


class Entry(NamedTuple):
    """A batch of a log."""

    offset: int
    writer: Writer
    sequence: int
    records: tuple[Hashable, ...]
    length: int  # in offsets; compaction takes records, but leaves these
    is_marker: bool = False

    @property
    def last_offset(self) -> int:
        """The offset of its last record, be it there or not."""
        return self.offset + self.length - 1

    @property
    def seen(self) -> SeenBatch:
        """As a reader of headers sees it."""
        return SeenBatch(self.offset, self.last_offset, self.writer, self.sequence)


@dataclass
class _Producer:
    epoch: int
    last_sequence: int = -1
    recent: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    stamp: float = 0.0  # hours


class Log:
    """One partition on its leader, with how far its followers have it."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.start = 0
        self.high_watermark = 0
        self.is_slow = False  # followers do not follow
        self.is_leaderless = False
        self._deleted: list[Entry] = []  # by retention; what they told of producers outlives them, in snapshots
        self._producers: dict[int, _Producer] = {}
        self._stamps: dict[int, float] = {}

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self.entries[-1].last_offset + 1 if self.entries else self.start

    def append(self, writer: Writer, sequence: int, records: tuple[Hashable, ...], stamp: float) -> int:
        """Append an idempotent batch; returns its first offset, which is an old one if it was taken before."""
        self._check_leader()
        state = self._producers.get(writer.producer_id)
        last = (sequence + len(records) - 1) % SEQUENCES
        if state is not None:
            if writer.epoch < state.epoch:
                raise Refused("INVALID_PRODUCER_EPOCH")
            if writer.epoch == state.epoch:
                for first_seen, last_seen, offset in state.recent:
                    if (first_seen, last_seen) == (sequence, last):
                        return offset
            expected = 0 if writer.epoch > state.epoch else (state.last_sequence + 1) % SEQUENCES
            if sequence != expected:
                raise Refused("OUT_OF_ORDER_SEQUENCE_NUMBER")
        entry = Entry(self.end, writer, sequence, records, len(records))
        self._take(entry, stamp)
        return entry.offset

    def append_plain(self, records: tuple[Hashable, ...], now: float) -> int:
        """Append without a producer id: whoever knows the way may."""
        self._check_leader()
        self.entries.append(Entry(self.end, NOBODY, -1, records, len(records)))
        self._stamps[self.entries[-1].offset] = now
        return self.entries[-1].offset

    def mark(self, writer: Writer, now: float) -> int:
        """Write the marker of an empty transaction."""
        self._check_leader()
        state = self._producers.get(writer.producer_id)
        if state is not None and writer.epoch < state.epoch:
            raise Refused("INVALID_PRODUCER_EPOCH")
        entry = Entry(self.end, writer, -1, (), 1, is_marker=True)
        self._take(entry, now)
        return entry.offset

    def _take(self, entry: Entry, stamp: float) -> None:
        self.entries.append(entry)
        self._stamps[entry.offset] = stamp
        state = self._producers.setdefault(entry.writer.producer_id, _Producer(entry.writer.epoch))
        if state.epoch != entry.writer.epoch:
            state.epoch, state.last_sequence = entry.writer.epoch, -1
            state.recent.clear()
        state.stamp = stamp
        if not entry.is_marker:
            state.last_sequence = (entry.sequence + entry.length - 1) % SEQUENCES
            state.recent.append((entry.sequence, state.last_sequence, entry.offset))

    def _check_leader(self) -> None:
        if self.is_leaderless:
            raise Refused("NOT_LEADER_OR_FOLLOWER")

    def replicate(self) -> None:
        """Let followers take what the leader has."""
        if not self.is_slow:
            self.high_watermark = self.end

    def fail_over(self) -> None:
        """A follower becomes the leader, without what it had not taken yet."""
        self.is_slow = self.is_leaderless = False
        kept = [entry for entry in self.entries if entry.last_offset < self.high_watermark]
        stamps = self._stamps
        self.entries, self._producers, self._stamps = [], {}, {}
        for entry in [*self._deleted, *kept]:
            if entry.writer == NOBODY:
                self.entries.append(entry)
            else:
                self._take(entry, stamps[entry.offset])
        self.entries = kept

    def expire(self, now: float) -> None:
        """Forget producers by the time of their newest record, as brokers do every few minutes."""
        self._producers = {
            number: state for number, state in self._producers.items() if now - state.stamp < EXPIRY_HOURS
        }

    def delete_before(self, offset: int) -> None:
        """Retention: whole batches go."""
        self._deleted += [entry for entry in self.entries if entry.last_offset < offset]
        self.entries = [entry for entry in self.entries if entry.last_offset >= offset]
        self.start = max(self.start, min(offset, self.high_watermark))

    def has_marker(self, writer: Writer) -> bool:
        """Whether consumers may see a marker of this writer."""
        return any(entry.is_marker and entry.writer == writer for entry in self.readable())

    def readable(self) -> Iterator[Entry]:
        """What consumers may see."""
        return (entry for entry in self.entries if entry.last_offset < self.high_watermark)


@dataclass
class _TransactionalId:
    writer: Writer
    pending: int = 0  # markers that are still to be written


class Coordinator:
    """Hands out producer ids and epochs, and writes the markers of ended transactions, sooner or later."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._ids: dict[str, _TransactionalId] = {}
        self._to_write: list[tuple[_TransactionalId, Writer, Log]] = []

    def initialise(self, name: str) -> Writer:
        """The same producer id with the next epoch."""
        known = self._ids.setdefault(name, _TransactionalId(Writer(len(self._ids), -1)))
        if known.pending:
            raise Refused("CONCURRENT_TRANSACTIONS")
        known.writer = Writer(known.writer.producer_id, known.writer.epoch + 1)
        return known.writer

    def is_current(self, name: str, writer: Writer) -> bool:
        """Whether nobody has initialised the id since."""
        return self._ids[name].writer == writer

    def abort(self, name: str, writer: Writer, logs: list[Log]) -> None:
        """Take an empty transaction with these partitions; the answer comes before any marker is written."""
        known = self._ids[name]
        if known.writer != writer:
            raise Refused("PRODUCER_FENCED")
        if known.pending:
            raise Refused("CONCURRENT_TRANSACTIONS")
        for log in logs:
            known.pending += 1
            self._to_write.append((known, writer, log))

    def write_markers(self) -> None:
        """Write what is due. A partition that has no leader is taken for deleted, and its marker forgotten."""
        due, self._to_write = self._to_write, []
        for known, writer, log in due:
            known.pending -= 1
            if not log.is_leaderless:
                log.mark(writer, self._now())

    def has_pending(self, name: str) -> bool:
        """Whether markers of this id are still to be written (DescribeTransactions)."""
        return self._ids[name].pending > 0

    @property
    def has_markers_to_write(self) -> bool:
        """Whether transactions have ended of which partitions do not know."""
        return bool(self._to_write)
