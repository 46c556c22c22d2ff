"""One source partition on its way through a lane: which batches to pass on, as they are or built anew."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.errors import CorruptBatch
from heliograph.kafka import batches, records
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.batches import BatchHeader, ProducerStamp
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.records import Record
from heliograph.model import Assignment, PartitionProgress, Position, Run

Done = Callable[[], None]


@dataclass
class Progress:
    """What the current transaction has done for a partition so far."""

    runs: list[Run] = field(default_factory=list)
    byte_count: int = 0
    newest_timestamp: int = -1

    def add(self, source: int, target: int, count: int) -> None:
        """Note records that were appended; joins them to the last run where they continue it."""
        if self.runs:
            last = self.runs[-1]
            if last.source + last.length == source and last.target + last.length == target:
                self.runs[-1] = Run(last.source, last.target, last.length + count)
                return
        self.runs.append(Run(source, target, count))


class PartitionCopy:
    """Copies one source partition to one target partition."""

    def __init__(
        self,
        assignment: Assignment,
        point: FetchPoint,
        target: TargetPartition,
        outgoing: Outgoing,
        stamp: ProducerStamp,
    ) -> None:
        self.assignment = assignment
        self.point = point
        self._target = target
        self._outgoing = outgoing
        self._stamp = stamp
        self._aborted = AbortedTransactions()
        self._progress = Progress()
        self._queued_to: deque[int] = deque()  # for each queued batch, where its successor begins on the source
        self._done_to = self._committed_to = point.offset
        self._target_offset = -1
        self._end = point.offset

    @property
    def has_moved(self) -> bool:
        """Whether anything was finished since the last commit, be it only skipped."""
        return self._done_to > self._committed_to

    @property
    def has_queued(self) -> bool:
        """Whether batches of this partition still wait to be appended."""
        return bool(self._queued_to)

    @property
    def is_behind(self) -> bool:
        """Whether the source had more than we have read, when it last answered."""
        return self.point.offset < self._end

    def accept(self, fetched: Fetched, on_done: Done) -> int:
        """Queue all batches of a fetch response; `on_done` is called as each is appended. Returns how many were queued."""
        self._end = fetched.last_stable_offset
        self._aborted.announce(fetched.aborted)
        queued = 0
        for magic, batch in batches.split(fetched.records):
            queued += self._accept_batch(batch, on_done) if magic >= 2 else self._rebuild(magic, batch, on_done)
        return queued

    def take_progress(self) -> tuple[PartitionProgress, Position]:
        """What has been appended since the last call, and the position after it; for the transaction that commits it."""
        progress, self._progress = self._progress, Progress()
        self._committed_to = self._done_to
        last_offset = self._done_to - 1
        done = PartitionProgress(
            self.assignment.source, self.assignment.target, tuple(progress.runs), last_offset,
            progress.byte_count, progress.newest_timestamp,
        )  # fmt: skip
        topic_id = str(self.point.topic_id)
        return done, Position(last_offset, self._target_offset, topic_id, self.point.last_fetched_epoch)

    def _accept_batch(self, batch: memoryview, on_done: Done) -> int:
        header = batches.read_header(batch)
        if header.last_offset < self.point.offset:
            return 0
        if not batches.is_intact(batch, header):
            raise CorruptBatch(f"{self.assignment.source}: the batch at offset {header.base_offset} fails its checksum")
        if self._aborted.hides(batch, header) or not header.record_count:
            self._skipped(header)
            return 0
        if header.base_offset < self.point.offset or not header.can_be_copied:
            return self._rebuild(2, batch, on_done)
        sequence = self._target.take_sequence(header.record_count)
        batches.restamp(batch, header, self._stamp, sequence)
        self._outgoing.put(self._target, batch, self._copied(header, on_done))
        self._read_to(header.last_offset + 1, header.leader_epoch)
        self._queued_to.append(self.point.offset)
        return 1

    def _read_to(self, offset: int, leader_epoch: int = -1) -> None:
        self.point.offset = offset
        self.point.last_fetched_epoch = leader_epoch

    def _skipped(self, header: BatchHeader) -> None:
        """Pass over a batch: done as soon as all before it is."""
        self._read_to(header.last_offset + 1, header.leader_epoch)
        if self._queued_to:
            self._queued_to[-1] = self.point.offset
        else:
            self._done_to = self.point.offset

    def _copied(self, header: BatchHeader, on_done: Done) -> Callable[[int], None]:
        def appended(base_offset: int) -> None:
            progress = self._progress
            progress.add(header.base_offset, base_offset, header.record_count)
            progress.byte_count += header.length + 12
            progress.newest_timestamp = max(progress.newest_timestamp, header.max_timestamp)
            self._appended(base_offset + header.record_count - 1)
            on_done()

        return appended

    def _rebuild(self, magic: int, batch: memoryview, on_done: Done) -> int:
        """Decode and encode anew: for holes, broker-set times, old formats, or a start in the middle of a batch."""
        wanted = [record for record in records.decode(magic, batch) if record.offset >= self.point.offset]
        if magic >= 2:
            header = batches.read_header(batch)
            compression = header.attributes & batches.COMPRESSION_MASK
            if not wanted:
                self._skipped(header)
                return 0
            self._read_to(header.last_offset + 1, header.leader_epoch)
        elif wanted:
            compression = 0
            self._read_to(wanted[-1].offset + 1)
        else:
            return 0
        sequence = self._target.take_sequence(len(wanted))
        data = records.encode(wanted, self._stamp, sequence, compression)
        self._outgoing.put(self._target, data, self._rebuilt(wanted, len(data), on_done))
        self._queued_to.append(self.point.offset)
        return 1

    def _appended(self, last_target_offset: int) -> None:
        self._target_offset = last_target_offset
        self._done_to = self._queued_to.popleft()

    def _rebuilt(self, wanted: list[Record], size: int, on_done: Done) -> Callable[[int], None]:
        offsets = [record.offset for record in wanted]
        newest = max(record.timestamp for record in wanted)

        def appended(base_offset: int) -> None:
            progress = self._progress
            for index, offset in enumerate(offsets):
                progress.add(offset, base_offset + index, 1)
            progress.byte_count += size
            progress.newest_timestamp = max(progress.newest_timestamp, newest)
            self._appended(base_offset + len(offsets) - 1)
            on_done()

        return appended
