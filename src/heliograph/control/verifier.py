"""Compares what a flow has just mirrored with its source, all the time, at a bounded cost.

Lanes tell the driver which offsets became which, so nothing has to be looked up: each round reads a few megabytes of
both sides. What looks like a difference is looked at again with all that `heliograph verify` knows, since a topic may
have been created anew, cut back or compacted meanwhile; only what differs then too is called a mismatch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass

from heliograph.config.flow import FlowConfig
from heliograph.control.meter import VerifiedMeter
from heliograph.due import Due
from heliograph.engine.flow import FlowDriver
from heliograph.engine.provenance import Provenance, TopicProvenance
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, TopicPartition
from heliograph.recovery.verification.comparison import Sides, Slice, SliceResult
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.plan import Scope, compacted_topics, plan_verification, source_view
from heliograph.recovery.verification.segments import Pair, Segment
from heliograph.recovery.verification.verification import verify_slices
from heliograph.sync.topics import left_out

log = logging.getLogger(__name__)

VERIFIER_LANE = -2  # in a ledger entry: the driver tells what its verification found
_PIECE_BYTES = 4 * 1024 * 1024
_BACKLOG_ROUNDS = 60  # what would take more rounds than that is passed over, the oldest first
_SETTINGS_SECONDS = 300.0
_TELL_AGAIN_SECONDS = 600.0
_BREAKS = (EventKind.RECREATED, EventKind.TRUNCATION)


@dataclass(eq=False)
class Piece:
    """A part of one partition that was mirrored, and when its oldest transaction was."""

    source: TopicPartition
    target: TopicPartition
    begin: Pair
    end: Pair
    bytes: int
    since_ms: int
    waits: bool = True  # in a backlog, where it may grow

    @property
    def slice(self) -> Slice:
        """The same as what can be compared."""
        return Slice(0, self.source, self.target, Segment(self.begin, self.end, self.bytes))


class Backlog:
    """What is mirrored and not compared yet, the oldest first; small transactions in a row are one piece."""

    def __init__(self, most_bytes: int, meter: VerifiedMeter) -> None:
        self._most_bytes = most_bytes
        self._meter = meter
        self._pieces: deque[Piece] = deque()
        self._last: dict[TopicPartition, Piece] = {}  # of each partition, be it compared by now
        self._bytes = 0
        self._lock = threading.Lock()

    def add(self, entry: LedgerEntry) -> None:
        """Take in a transaction."""
        broken = {event.source for event in entry.events if event.kind in _BREAKS}
        with self._lock:
            for source in broken:
                self._break(source)
            for progress in entry.own_progress():
                if progress.source in broken:
                    self._meter.passed_over_bytes += progress.byte_count
                elif progress.runs:
                    self._add(progress, entry.committed_at_ms or entry.written_at_ms)
            while self._bytes > self._most_bytes:
                self._pass_over(self._pieces[0])
            self._note()

    def take(self) -> Piece | None:
        """The oldest piece."""
        with self._lock:
            if not self._pieces:
                return None
            piece = self._pieces.popleft()
            piece.waits = False
            self._bytes -= piece.bytes
            return piece

    def put_back(self, piece: Piece) -> None:
        """It could not be compared yet."""
        with self._lock:
            self._pieces.appendleft(piece)
            self._bytes += piece.bytes

    def done(self) -> None:
        """Note since when the oldest waits."""
        with self._lock:
            self._note()

    def _note(self) -> None:
        self._meter.oldest_waiting_ms = self._pieces[0].since_ms if self._pieces else 0

    def _add(self, progress: PartitionProgress, at_ms: int) -> None:
        first, last = progress.runs[0], progress.runs[-1]
        begin, end = Pair(first.source, first.target), Pair(progress.last_offset + 1, last.target + last.length)
        before = self._last.get(progress.source)
        if before is not None and _goes_on(before, progress.target, begin):
            begin = before.end  # also what lies between is compared: the lane may not have passed over any record
            if before.waits and before.bytes < _PIECE_BYTES:
                before.end, before.bytes = end, before.bytes + progress.byte_count
                self._bytes += progress.byte_count
                return
        piece = Piece(progress.source, progress.target, begin, end, progress.byte_count, at_ms)
        self._pieces.append(piece)
        self._last[progress.source] = piece
        self._bytes += progress.byte_count

    def _break(self, source: TopicPartition) -> None:
        self._last.pop(source, None)
        for piece in [piece for piece in self._pieces if piece.source == source]:
            self._pass_over(piece)

    def _pass_over(self, piece: Piece) -> None:
        self._pieces.remove(piece)
        piece.waits = False
        self._bytes -= piece.bytes
        self._meter.passed_over_bytes += piece.bytes


def _goes_on(before: Piece, target: TopicPartition, begin: Pair) -> bool:
    """Whether records follow on a piece: neither was the mirror told to go back, nor the target created anew."""
    return before.target == target and before.end.source <= begin.source and before.end.target <= begin.target


class Verifier:
    """The continuous verification of one flow; a round compares at most so many bytes of both sides together."""

    def __init__(self, flow: FlowConfig, driver: FlowDriver, meter: VerifiedMeter, round_bytes: int) -> None:
        self._flow = flow
        self._driver = driver
        self._meter = meter
        self._round_bytes = round_bytes
        self._budget = 0
        self._backlog = Backlog(round_bytes * _BACKLOG_ROUNDS // 2, meter)
        self._rules = _LiveRules(flow)
        self._sides: Sides | None = None
        self._compacted: set[str] = set()
        self._looked_at: set[str] = set()
        self._settings_due = Due(_SETTINGS_SECONDS)
        self._told: dict[TopicPartition, float] = {}
        self._writers: dict[TopicPartition, set[TopicPartition]] = {}  # who writes to each partition of the target

    def mirrored(self, entry: LedgerEntry) -> None:
        """Take in a transaction; from any thread."""
        if entry.partitions:
            self._rules.ours.add(entry.producer_id)
        self._backlog.add(entry)

    def close(self) -> None:
        """Hang up."""
        self._rules.close()
        if self._sides is not None:
            self._sides.close()
        self._sides = None

    def run(self) -> str:
        """One round. What it reads too much, since pieces come as they are, the next ones read less."""
        self._budget = min(self._budget, 0) + self._round_bytes
        records, mismatches = self._meter.records, self._meter.mismatches
        while self._budget > 0 and (piece := self._backlog.take()) is not None:
            try:
                self._verify(piece)
            except ClusterError:
                self._backlog.put_back(piece)
                self.close()
                raise
            self._budget -= 2 * piece.bytes
        self._backlog.done()
        found = self._meter.mismatches - mismatches
        return f"{self._meter.records - records:,} records compared, {found} differences"

    def _verify(self, piece: Piece) -> None:
        self._look_at_settings(piece)
        writers = self._writers.setdefault(piece.target, set())
        writers.add(piece.source)
        if self._flow.sql or len(writers) > 1 or piece.source.topic in self._compacted:
            self._meter.passed_over_bytes += piece.bytes
            return
        if self._sides is None:
            source, target = access_for(self._flow.source, "consumer"), access_for(self._flow.target, "consumer")
            self._sides = Sides(source, target, self._rules, source_view(self._flow))
        result = self._sides.compare(piece.slice)
        if result.difference is not None:
            self._suspect(piece)
        elif result.left_out:
            self._meter.passed_over_bytes += piece.bytes
        self._count(result)

    def _count(self, result: SliceResult) -> None:
        self._meter.records += result.records
        self._meter.bytes += result.bytes

    def _look_at_settings(self, piece: Piece) -> None:
        """Learn of new topics at once whether they are compacted, and of all now and then."""
        if self._settings_due.is_due():
            self._looked_at.clear()
        topic = piece.source.topic
        if topic in self._looked_at:
            return
        with (
            Admin(access_for(self._flow.source, "admin")) as source,
            Admin(access_for(self._flow.target, "admin")) as to,
        ):
            found = compacted_topics(source, to, {piece.source: piece.target})
        self._compacted = (self._compacted - {topic}) | found
        self._looked_at.add(topic)

    def _suspect(self, piece: Piece) -> None:
        """Look again, with all that is known of both clusters by now."""
        told_at = self._told.get(piece.source)
        if told_at is not None and time.monotonic() - told_at < _TELL_AGAIN_SECONDS:
            self._meter.mismatches += 1
            return
        scope = Scope(from_offsets={piece.source: piece.begin.source})
        differences = verify_slices(plan_verification(self._flow, scope)).differences
        if differences:
            self._told[piece.source] = time.monotonic()
            self._meter.mismatches += 1
            self._tell(piece, differences[0])
        else:
            self._meter.passed_over_bytes += piece.bytes

    def _tell(self, piece: Piece, difference: Difference) -> None:
        """In the log, in the journal, and to all who follow the flow."""
        log.error("%s: source and target differ: %s", self._flow.name, difference)
        first = max(difference.offset, piece.begin.source) if difference.source_record else piece.begin.source
        event = Event(EventKind.MISMATCH, piece.source, first, piece.end.source, str(difference))
        now_ms = int(time.time() * 1000)
        # Readers take every id in the ledger for one that lanes write under, so it must be one of those.
        producer_id = max(self._rules.ours)
        entry = LedgerEntry(self._flow.name, VERIFIER_LANE, self._driver.owner, producer_id, now_ms, (), (event,))
        record = entries.record(self._flow.name, now_ms, entries.encode_entry(entry))
        with Writer(self._driver.settings.target) as writer:
            writer.append(TopicPartition(self._driver.settings.topics.journal, 0), [record])
        for follower in self._driver.followers:
            follower(entry)


class _LiveRules:
    """Which records count, by all that has been announced up to the moment of the question."""

    opens_all = False

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._has_same_names = flow.keeps_names
        self.ours: set[int] = set()  # producer ids of this flow's lanes
        self._loop: Loop | None = None
        self._provenance: Provenance | None = None
        self._rules: dict[str, TopicProvenance] = {}

    def counts_on_source(self, topic: str, producer_id: int) -> bool:
        """Whether a batch of the source should be on the target."""
        if not self._has_same_names:
            return True
        if self._provenance is None:
            self._loop = Loop()
            self._provenance = Provenance(self._loop, Network(self._loop, access_for(self._flow.source, "consumer")))
        if topic not in self._rules:
            self._rules[topic] = self._provenance.of(left_out(self._flow, topic))
        return not self._rules[topic].is_mirrored(producer_id)

    def counts_on_target(self, producer_id: int) -> bool:
        """Whether a batch of the target came from the source."""
        return not self._has_same_names or producer_id in self.ours

    def close(self) -> None:
        """Hang up."""
        if self._loop is not None:
            self._loop.close()
        self._loop = self._provenance = None
        self._rules.clear()
