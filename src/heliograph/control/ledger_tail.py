"""What the end of a ledger tells: who owns the flow, what it did last, what happened, which partitions are set aside.

A ledger holds one entry for each transaction of two weeks, so only as much of its end is read as the answer needs. The
mirror tells again every minute which partitions are set aside (`control/standing.py`), so that is little.
"""

from __future__ import annotations

from heliograph.control.standing import NO_LANE
from heliograph.kafka import reading, records
from heliograph.kafka.batches import COMPRESSION_MASK
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST, CommittedBatch
from heliograph.ledger import entries
from heliograph.ledger.entries import Chores, Owner, Told
from heliograph.model import ChoreState, Event, EventKind, LedgerEntry, OperationNote, SourceSight, TopicPartition

RATE_MS = 60_000

_EVENTS_MS = 24 * 60 * 60 * 1000
_FIRST_STEP = 50_000  # offsets
_GROWTH = 4
_REPORT_DELAY_MS = 5_000  # longer than what a lane has committed takes to reach the driver


def read_tail(loop: Loop, network: Network, topic: str, now_ms: int) -> LedgerTail:
    """Read back from the end in growing steps until all is known, but for events of the last day that lie further.

    What an open transaction hides is not waited for.
    """
    first = reading.list_offsets(network, topic, {0: EARLIEST})[0]
    end = reading.list_offsets(network, topic, {0: LATEST}, READ_COMMITTED)[0]
    recent = _offset_at(network, topic, now_ms - RATE_MS, end)
    start = min(recent, max(_offset_at(network, topic, now_ms - _EVENTS_MS, end), first, end - _FIRST_STEP))
    step = _FIRST_STEP
    while True:
        tail = LedgerTail(now_ms)
        for batch in reading.read_batches(loop, network, topic, {0: start}, {0: end}):
            tail.add(batch)
        if tail.is_known or start <= first:
            return tail
        start = max(first, min(start, end - step))
        step *= _GROWTH


def _offset_at(network: Network, topic: str, time_ms: int, end: int) -> int:
    """The first offset of that time or later."""
    found = reading.list_offsets(network, topic, {0: time_ms})[0]
    return end if found < 0 else found


class LedgerTail:
    """Takes in a ledger's last batches, in order."""

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
        self._begins_ms: int | None = None
        self._has_owner_record = False
        self._knows_all_set_aside = False
        self._changed: set[TopicPartition] = set()  # set aside or resumed within what was read

    @property
    def is_known(self) -> bool:
        """Whether nothing further back could change the answer, but for old events."""
        return bool(self.owner and self.last_commit_ms and self._knows_all_set_aside)

    def add(self, batch: CommittedBatch) -> None:
        """Take in a batch; most tell only of progress long ago, and need not be decoded."""
        time_ms = batch.header.max_timestamp
        if self._begins_ms is None:
            self._begins_ms = time_ms
        if time_ms < self._now_ms - RATE_MS and _tells_only_of_progress(batch):
            self.last_commit_ms = self.alive_ms = max(self.last_commit_ms, time_ms)
            return
        for record in records.decode(batch.magic, batch.data):
            self._add_told(entries.decode(record.value), record.timestamp)

    def _add_told(self, told: Told | None, time_ms: int) -> None:
        if not isinstance(told, OperationNote) and not (isinstance(told, Owner) and told.is_operation):
            self.alive_ms = max(self.alive_ms, time_ms)
        if isinstance(told, Owner):
            self._has_owner_record = True
            self._now_owned_by(told.name)
        elif isinstance(told, Chores):
            self.chores = told.states
        elif isinstance(told, SourceSight):
            self.sight = told
        elif isinstance(told, OperationNote):
            self.notes.append(told)
        elif isinstance(told, LedgerEntry):
            if not self._has_owner_record:
                self._now_owned_by(told.owner)
            if told.lane == NO_LANE:
                self._add_standing(told)
            else:
                self._add_entry(told)

    def _now_owned_by(self, owner: str) -> None:
        """The lanes of a new owner try every partition, and tell themselves which they must set aside."""
        if self.owner and owner != self.owner:
            self.set_aside.clear()
            self._changed.clear()
            self.chores = ()
            self._knows_all_set_aside = True
        self.owner = owner

    def _add_standing(self, entry: LedgerEntry) -> None:
        """What lanes told themselves prevails: the driver may not have heard of it yet."""
        if entry.owner != self.owner:
            return
        self.set_aside.update(
            {event.source: event.reason for event in entry.events if event.source not in self._changed}
        )
        assert self._begins_ms is not None
        if entry.written_at_ms - self._begins_ms >= _REPORT_DELAY_MS:
            self._knows_all_set_aside = True

    def _add_entry(self, entry: LedgerEntry) -> None:
        self.last_commit_ms = max(self.last_commit_ms, entry.written_at_ms)
        if entry.written_at_ms >= self._now_ms - RATE_MS:
            self.records += entry.record_count
            self.bytes += sum(progress.byte_count for progress in entry.partitions)
        for event in entry.events:
            if entry.written_at_ms >= self._now_ms - _EVENTS_MS:
                self.events.append(event)
            if entry.owner == self.owner:
                self._follow(event)

    def _follow(self, event: Event) -> None:
        if event.kind is EventKind.SET_ASIDE:
            self.set_aside[event.source] = event.reason
            self._changed.add(event.source)
        elif event.kind is EventKind.RESUMED:
            self.set_aside.pop(event.source, None)
            self._changed.add(event.source)


def _tells_only_of_progress(batch: CommittedBatch) -> bool:
    is_plain = batch.header.record_count == 1 and not batch.header.attributes & COMPRESSION_MASK
    return is_plain and entries.ends_as_progress_only(batch.data)
