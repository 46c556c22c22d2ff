"""How a flow stands, as its internal topics tell: its owner, what it did last, what happened, what is set aside.

Each answer is read from where it is kept small: how things are now from the state, what happened from the journal, and
the rate from the last minute of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import Chores, Owner
from heliograph.model import (
    ChoreState,
    Event,
    EventKind,
    InternalTopics,
    LedgerEntry,
    OperationNote,
    SourceSight,
    TopicPartition,
)

RATE_MS = 60_000

_EVENTS_MS = 24 * 60 * 60 * 1000
_MOST_OF_JOURNAL = 50_000  # offsets
_LAST_OF_LEDGER = 1_000  # offsets: the last transaction is among them, behind markers and what was aborted
_REPORT_DELAY_MS = 15_000  # longer than what a lane has committed takes to be told again by its driver


def read_tail(loop: Loop, network: Network, topics: InternalTopics, now_ms: int) -> LedgerTail:
    """Ask the target of a flow; what an open transaction hides is not waited for."""
    tail, reader = LedgerTail(now_ms), _TailReader(loop, network)
    for record in reader.read(topics.state):
        tail.add_state(record)
    for record in reader.read(topics.journal, newest=_MOST_OF_JOURNAL):
        tail.add_to_journal(record)
    for record in reader.read(topics.ledger, newest=_LAST_OF_LEDGER, since_ms=now_ms - RATE_MS):
        tail.add_to_ledger(record)
    return tail


class _TailReader:
    """Reads the ends of topics; one that does not exist has nothing to tell."""

    def __init__(self, loop: Loop, network: Network) -> None:
        self._loop = loop
        self._network = network

    def read(self, topic: str, newest: int | None = None, since_ms: int | None = None) -> Iterator[Record]:
        """All records, or only about so many, and those since a time."""
        failure = self._network.look_up([topic]).get(topic, 0)
        if failure == UNKNOWN_TOPIC:
            return
        check(f"{self._network.access.alias} topic {topic}", failure)
        start = reading.list_offsets(self._network, topic, {0: EARLIEST})[0]
        end = reading.list_offsets(self._network, topic, {0: LATEST}, READ_COMMITTED)[0]
        if newest is not None:
            start = max(start, min(end - newest, self._offset_at(topic, since_ms, end)))
        for batch in reading.read_batches(self._loop, self._network, topic, {0: start}, {0: end}):
            for record in records.decode(batch.magic, batch.data):
                if start <= record.offset < end:
                    yield record

    def _offset_at(self, topic: str, since_ms: int | None, end: int) -> int:
        found = -1 if since_ms is None else reading.list_offsets(self._network, topic, {0: since_ms})[0]
        return end if found < 0 else found


class LedgerTail:
    """Takes in records of the state, then of the journal, then of the ledger."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self.owner = ""
        self.last_commit_ms = 0
        self.alive_ms = 0  # when a mirror wrote last
        self.records = 0  # of the last minute, as bytes
        self.bytes = 0
        self.events: list[Event] = []
        self.set_aside: dict[TopicPartition, str] = {}
        self.chores: tuple[ChoreState, ...] = ()  # as told last by the owner
        self.sight: SourceSight | None = None  # how far the source was seen to reach
        self.notes: list[OperationNote] = []  # of operations, as far as was read
        self._has_owner_record = False
        self._set_aside_ms = 0  # when it was written down what is set aside

    def add_state(self, record: Record) -> None:
        """Take in how something is now."""
        told = entries.decode(record.value)
        if isinstance(told, Owner):
            self._now_owned_by(told.name)
        elif isinstance(told, Chores):
            self.chores = told.states
        elif isinstance(told, SourceSight):
            self.sight = told
        elif isinstance(told, LedgerEntry) and told.owner == self.owner:
            self.set_aside = {event.source: event.reason for event in told.events}
            self._set_aside_ms = told.written_at_ms
        if not (isinstance(told, Owner) and told.is_operation):
            self.alive_ms = max(self.alive_ms, record.timestamp)

    def _now_owned_by(self, owner: str) -> None:
        """The lanes of a new owner try every partition, and tell themselves which they must set aside."""
        if owner != self.owner:
            self.chores, self._set_aside_ms = (), 0
            self.set_aside.clear()
        self.owner, self._has_owner_record = owner, True

    def add_to_journal(self, record: Record) -> None:
        """Take in what happened; lanes tell at once what the driver has yet to write down in the state."""
        told = entries.decode(record.value)
        if isinstance(told, OperationNote):
            self.notes.append(told)
        elif isinstance(told, LedgerEntry):
            if told.written_at_ms >= self._now_ms - _EVENTS_MS:
                self.events.extend(told.events)
            if told.owner == self.owner and told.written_at_ms >= self._set_aside_ms - _REPORT_DELAY_MS:
                self._follow(told.events)

    def _follow(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.kind is EventKind.SET_ASIDE:
                self.set_aside[event.source] = event.reason
            elif event.kind is EventKind.RESUMED:
                self.set_aside.pop(event.source, None)

    def add_to_ledger(self, record: Record) -> None:
        """Take in a transaction."""
        told = entries.decode(record.value)
        if isinstance(told, LedgerEntry):
            if not self._has_owner_record:
                self.owner = told.owner  # version 0.1.0 had no state
            self.last_commit_ms = max(self.last_commit_ms, told.written_at_ms)
            self.alive_ms = max(self.alive_ms, told.written_at_ms)
            if told.written_at_ms >= self._now_ms - RATE_MS:
                self.records += told.record_count
                self.bytes += sum(progress.byte_count for progress in told.partitions)
