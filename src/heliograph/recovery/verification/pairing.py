"""Compares a partition with its copy, batch by batch, and record by record where batches were built anew.

A batch that was copied as it is has the same bytes of records on both sides, so most of a log is compared without
being decompressed or decoded. Where two batches are not the same, both are opened, and as many more as it takes until
both sides stand at the beginning of a batch again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from heliograph.kafka import batches, records
from heliograph.kafka.batches import COMPRESSION_MASK, DELETE_HORIZON, HEADER_SIZE, LOG_APPEND_TIME
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.verification.difference import Difference, same_content


@dataclass(frozen=True)
class Stretch:
    """Committed batches of one partition, of which the records from `first` up to and without `end` count."""

    where: TopicPartition
    batches: Iterator[CommittedBatch]
    first: int
    end: int


@dataclass
class Pairing:
    """What was compared."""

    records: int = 0
    bytes: int = 0  # of the source's log
    opened: int = 0  # batches of the source that had to be decoded
    times_left_out: int = 0  # records whose time on the target is the broker's own
    difference: Difference | None = None


class Damaged(Exception):
    """A batch is not what its producer wrote."""


def compare_stretches(source: Stretch, target: Stretch, opens_all: bool = False) -> Pairing:
    """Compare until the first difference, or the end of both; `opens_all` decodes and checks every batch."""
    result = Pairing()
    try:
        result.difference = _compare(result, source, target, opens_all)
    except Damaged as damage:
        result.difference = Difference(source.where, target.where, None, None, str(damage))
    return result


def _compare(result: Pairing, source: Stretch, target: Stretch, opens_all: bool) -> Difference | None:
    ours, theirs = _Side(source, "source"), _Side(target, "target")
    while ours.load() and theirs.load():
        if not opens_all and ours.is_whole and theirs.is_whole and _same_bytes(ours.batch, theirs.batch):
            header = theirs.batch.header
            result.records += header.record_count
            result.bytes += len(ours.batch.data)
            result.times_left_out += header.record_count if header.attributes & LOG_APPEND_TIME else 0
            ours.pass_over()
            theirs.pass_over()
            continue
        result.opened += not ours.is_open
        result.bytes += ours.open()
        theirs.open()
        while ours.waiting and theirs.waiting:
            one, other = ours.waiting.popleft(), theirs.waiting.popleft()
            if not same_content(one, other, not theirs.has_broker_times):
                return Difference(source.where, target.where, one, other, compares_times=not theirs.has_broker_times)
            result.records += 1
            result.times_left_out += theirs.has_broker_times
    left, extra = ours.next_record(), theirs.next_record()
    if left is not None or extra is not None:
        return Difference(source.where, target.where, left, extra)
    return None


class _Side:
    """One side of a comparison: a batch that is still closed, or the records of one that was opened."""

    def __init__(self, stretch: Stretch, name: str) -> None:
        self._stretch = stretch
        self._name = name
        self._batch: CommittedBatch | None = None
        self.waiting: deque[Record] = deque()
        self.has_broker_times = False  # the records that wait

    @property
    def batch(self) -> CommittedBatch:
        """The batch that is still closed."""
        assert self._batch is not None
        return self._batch

    @property
    def is_open(self) -> bool:
        """Whether records wait that were taken out of their batch."""
        return bool(self.waiting)

    def load(self) -> bool:
        """Make sure that something waits; whether there is anything."""
        while self._batch is None and not self.waiting:
            batch = next(self._stretch.batches, None)
            if batch is None:
                return False
            if batch.header.last_offset >= self._stretch.first and batch.header.base_offset < self._stretch.end:
                self._batch = batch
        return True

    @property
    def is_whole(self) -> bool:
        """Whether a closed batch waits, all of which counts."""
        if self._batch is None:
            return False
        header = self._batch.header
        is_inside = header.base_offset >= self._stretch.first and header.last_offset < self._stretch.end
        return is_inside and self._batch.magic >= 2 and header.record_count == header.last_offset_delta + 1

    def pass_over(self) -> None:
        """Done with the closed batch."""
        self._batch = None

    def open(self) -> int:
        """Take the records out of the closed batch; returns its size."""
        if self._batch is None:
            return 0
        batch, self._batch = self._batch, None
        first, end = self._stretch.first, self._stretch.end
        self.waiting.extend(r for r in self._decoded(batch) if first <= r.offset < end)
        self.has_broker_times = bool(batch.header.attributes & LOG_APPEND_TIME)
        return len(batch.data)

    def _decoded(self, batch: CommittedBatch) -> list[Record]:
        place = f"{self._stretch.where}: the batch at offset {batch.header.base_offset} of the {self._name}"
        is_new = batch.magic >= 2
        if not (batches.is_intact(batch.data, batch.header) if is_new else records.is_intact_old(batch[1], batch.data)):
            raise Damaged(f"{place} fails its checksum")
        try:
            return list(records.decode(batch.magic, batch.data))
        except Exception as error:  # whatever a decoder raises: its checksum is right, and still it makes no sense
            raise Damaged(f"{place} cannot be decoded: {error}") from error

    def next_record(self) -> Record | None:
        """The next record, if there is one."""
        while self.load():
            self.open()
            if self.waiting:
                return self.waiting.popleft()
        return None


def _same_bytes(one: CommittedBatch, other: CommittedBatch) -> bool:
    """Whether two batches hold the same records, as far as can be told without opening them."""
    a, b = one.header, other.header
    if a.length != b.length or a.record_count != b.record_count or a.first_timestamp != b.first_timestamp:
        return False
    if a.attributes & LOG_APPEND_TIME or (a.attributes ^ b.attributes) & (COMPRESSION_MASK | DELETE_HORIZON):
        return False
    # Of what Python offers this compares memory with the fewest copies.
    return bytes(one.data[HEADER_SIZE:]).startswith(other.data[HEADER_SIZE:])
