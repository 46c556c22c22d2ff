"""One source partition on its way through a lane: which batches to pass on, as they are or built anew."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from heliograph.engine.outgoing import Outgoing, Queued, TargetPartition
from heliograph.engine.provenance import TopicProvenance
from heliograph.errors import MalformedRecord, PartitionFailed, TargetCutBack
from heliograph.kafka import batches, records
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.batches import BatchHeader
from heliograph.kafka.connection import Buffer
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.kafka.records import Record
from heliograph.ledger.runs import add_run
from heliograph.model import Assignment, Event, Latency, PartitionProgress, Position, Run, TopicPartition

Done = Callable[[], None]

# Each batch costs a broker a request of its own, so batches below this size are joined where several come together.
_SMALL_BATCH_BYTES = 4 * 1024
_JOINED_BYTES = 128 * 1024
_MOST_PIECES = 10_000  # of a batch that is built anew: its transaction must not have too many


@dataclass(frozen=True)
class CopyRules:
    """What is not passed on as it is: what the target has or gets otherwise, and all that has another codec."""

    provenance: TopicProvenance = field(default_factory=TopicProvenance)
    codec: int | None = None


class _Times(NamedTuple):
    """When the records of a batch were made: the oldest, the newest, and all times added up."""

    oldest: int
    newest: int
    total: int

    @classmethod
    def spread(cls, oldest: int, newest: int, count: int) -> _Times:
        """As far as headers tell: as if the records were spread evenly."""
        return cls(oldest, newest, (oldest + newest) * count // 2)


@dataclass
class _Sent:
    """A batch that waits to be appended, and what is done on the source when it is."""

    pieces: Sequence[tuple[int, int]]  # source offset and length of each row of consecutive records
    byte_count: int
    times: _Times
    next_offset: int
    leader_epoch: int
    on_done: Done | None = None
    target: TopicPartition | None = None  # where it goes, once that is known
    is_done: bool = False


_NO_TIMES = _Times(-1, -1, -1)


@dataclass
class _Progress:
    """What the current transaction has done for a partition so far."""

    runs: list[Run] = field(default_factory=list)
    byte_count: int = 0
    times: _Times | None = None
    latency: Latency | None = None

    def add_latency(self, times: _Times, count: int) -> None:
        """Note records that consumers can read from now on."""
        now = int(time.time() * 1000)
        longest, total = now - times.oldest, now * count - times.total
        if self.latency is not None:
            longest, total = max(longest, self.latency.longest), total + self.latency.total
        self.latency = Latency(max(0, now - times.newest), max(0, longest), max(0, total))

    def add(self, sent: _Sent, base_offset: int) -> int:
        """Note records that were appended from this target offset on; returns the last one's target offset."""
        target = base_offset
        for source, length in sent.pieces:
            add_run(self.runs, source, target, length)
            target += length
        self.byte_count += sent.byte_count
        self.times = sent.times if self.times is None else _together(self.times, sent.times)
        return target - 1


class PartitionCopy:
    """Copies one source partition to one target partition."""

    def __init__(
        self,
        assignment: Assignment,
        point: FetchPoint,
        target: TargetPartition,
        outgoing: Outgoing,
        target_offset: int = -1,
        rules: CopyRules | None = None,
        is_new: bool = False,
    ) -> None:
        """`is_new`: nothing of the partition has been mirrored before."""
        self.assignment = assignment
        self.point = point
        self._target = target
        self._outgoing = outgoing
        self._rules = rules or CopyRules()
        self._aborted = AbortedTransactions()
        self.failure: PartitionFailed | None = None
        self._held = 0
        self._small: list[tuple[BatchHeader, memoryview]] = []
        self._small_bytes = 0
        self._sent: deque[_Sent] = deque()
        self._progress: dict[TopicPartition, _Progress] = {}
        self._done_to = self._committed_to = point.offset
        self._done_epoch = point.last_fetched_epoch
        self._target_offset = target_offset
        self._end = point.offset
        self._begins_at = point.offset if is_new else -1
        self.is_read_at_once = False  # whether consumers need not wait for a commit

    @property
    def provenance(self) -> TopicProvenance:
        """What of the topic is not passed on."""
        return self._rules.provenance

    @property
    def has_moved(self) -> bool:
        """Whether anything was finished since the last commit, be it only skipped."""
        return self._done_to > self._committed_to

    @property
    def has_queued(self) -> bool:
        """Whether batches of this partition still wait to be appended."""
        return bool(self._sent)

    @property
    def is_behind(self) -> bool:
        """Whether the source had more than we have read, when it last answered."""
        return self.point.offset < self._end

    def accept(self, fetched: Fetched, on_done: Done) -> int:
        """Queue what a fetch response brought.

        Returns how many batches are passed on straight from its buffer; `on_done` is called as each is appended.
        """
        self._end = fetched.last_stable_offset
        self._aborted.announce(fetched.aborted)
        self._held = 0
        try:
            for magic, batch in batches.split(fetched.records):
                if magic >= 2:
                    self._accept_batch(batch, on_done)
                else:
                    self._flush_small(on_done)
                    self._accept_old(magic, batch)
        except PartitionFailed as failure:
            self.failure = failure
        except MalformedRecord as error:
            self.failure = PartitionFailed(self.assignment.source, f"{error}, on the source")
        self._flush_small(on_done)
        return self._held

    def skip_to(self, offset: int) -> None:
        """Go on at a later or earlier place: what lies between is lost on the source, and has been reported."""
        self.point.offset = self._done_to = self._end = offset
        self._committed_to = min(self._committed_to, offset - 1)
        self.point.last_fetched_epoch = self._done_epoch = -1

    def follow_on(self, target_offset: int) -> None:
        """Nothing that is to come lies before or at this offset of the target."""
        self._target_offset = max(self._target_offset, target_offset)

    @property
    def target_offset(self) -> int:
        """Where the last record of the partition went, as far as is known."""
        return self._target_offset

    def write_down_start(self) -> None:
        """The next transaction commits where the partition begins, though nothing has been copied yet."""
        self._committed_to = self.point.offset - 1

    def refused(self, failure: PartitionFailed) -> PartitionFailed:
        """The same failure with what was refused: answers come in order, so it is the oldest batch on its way there."""
        sent = next(sent for sent in self._sent if sent.target == failure.target and not sent.is_done)
        first, last = sent.pieces[0][0], sum(sent.pieces[-1]) - 1
        what = f"it has offsets {first} to {last} of the source in {sent.byte_count} bytes"
        return PartitionFailed(failure.source, f"{failure.reason}; {what}", failure.target, failure.concerns_topic)

    def take_progress(self) -> tuple[list[PartitionProgress], Position]:
        """What has been appended since the last call, and the position after it: for the transaction to commit.

        First what went to the partition's own target, be it nothing; then what was routed elsewhere.
        """
        progress, self._progress = self._progress, {}
        self._committed_to = self._done_to
        own = progress.pop(self.assignment.target, _Progress())
        done = [self._told(self.assignment.target, own)]
        done.extend(self._told(target, some) for target, some in progress.items())
        self._begins_at = -1
        position = Position(self._done_to - 1, self._target_offset, str(self.point.topic_id), self._done_epoch)
        return done, replace(position, target_topic_id=self._target.topic_id)

    def failure_event(self) -> Event | None:
        """What is to be told of records that could not be mirrored since the last commit, if there are any."""
        return None

    def _told(self, target: TopicPartition, progress: _Progress) -> PartitionProgress:
        times = progress.times or _NO_TIMES
        return PartitionProgress(
            self.assignment.source,
            target,
            tuple(progress.runs),
            self._done_to - 1,
            progress.byte_count,
            times.newest,
            times.oldest,
            times.total // max(1, sum(run.length for run in progress.runs)),
            self._begins_at,
            latency=progress.latency,
        )

    def _accept_batch(self, batch: memoryview, on_done: Done) -> None:
        header = batches.read_header(batch)
        if header.last_offset < self.point.offset:
            return
        if not batches.is_intact(batch, header):
            raise self._corrupt(header.base_offset)
        is_mirrored = self._rules.provenance.is_mirrored
        if self._aborted.hides(batch, header) or not header.record_count or is_mirrored(header.producer_id):
            self._skip(header)
        else:
            self._accept_records(header, batch, on_done)

    def _accept_records(self, header: BatchHeader, batch: memoryview, on_done: Done) -> None:
        if not self._can_pass(header, len(batch)) or self._rules.provenance.brings_back(batch):
            self._flush_small(on_done)
            self._rebuild(header, records.decode(2, batch))
        elif header.length < _SMALL_BATCH_BYTES:
            self._keep_small(header, batch, on_done)
        else:
            self._flush_small(on_done)
            self._pass_on(header, batch, on_done)

    def _keep_small(self, header: BatchHeader, batch: memoryview, on_done: Done) -> None:
        """Keep a small batch for a moment: the next ones may be small too."""
        if self._small:
            other_codec = (self._small[0][0].attributes ^ header.attributes) & batches.COMPRESSION_MASK
            if other_codec or self._small_bytes + len(batch) > min(_JOINED_BYTES, self.assignment.max_batch_bytes):
                self._flush_small(on_done)
        self._small.append((header, batch))
        self._small_bytes += len(batch)
        self._read_to(header.last_offset + 1, header.leader_epoch)

    @property
    def _keeps_some(self) -> bool:
        """Whether something that was read has not been sent yet; what is skipped behind it must not part it."""
        return bool(self._small)

    def _flush_small(self, on_done: Done) -> None:
        """Send the small batches that were kept: one as it is, several as one."""
        small, self._small, self._small_bytes = self._small, [], 0
        if len(small) == 1:
            self._send_as_it_is(*small[0], on_done)
        elif small:
            self._send_joined(small, on_done)

    def _send_joined(self, small: Sequence[tuple[BatchHeader, memoryview]], on_done: Done) -> None:
        """With them all is done that was read: what was skipped between and behind them too."""
        try:
            data = records.join([batch for _, batch in small], small[0][0].attributes & batches.COMPRESSION_MASK)
        except MalformedRecord:  # whole batches can be passed on without being read; the target says what it takes
            self._send_each(small, on_done)
            return
        pieces = _joined((header.base_offset, header.record_count) for header, _ in small)
        newest = max(header.max_timestamp for header, _ in small)
        times = _Times.spread(small[0][0].first_timestamp, newest, sum(length for _, length in pieces))
        sent = _Sent(pieces, len(data), times, self.point.offset, self.point.last_fetched_epoch)
        self._put(data, sent, self._target)

    def _send_each(self, small: Sequence[tuple[BatchHeader, memoryview]], on_done: Done) -> None:
        """Before the last of them is appended, nothing behind the others is done."""
        for header, batch in small:
            self._send_as_it_is(header, batch, on_done)
            if batch is not small[-1][1]:
                self._sent[-1].next_offset, self._sent[-1].leader_epoch = header.last_offset + 1, header.leader_epoch

    def _pass_on(self, header: BatchHeader, batch: memoryview, on_done: Done) -> None:
        """The fast way: the batch leaves from where it was received."""
        self._read_to(header.last_offset + 1, header.leader_epoch)
        self._send_as_it_is(header, batch, on_done)

    def _send_as_it_is(self, header: BatchHeader, batch: memoryview, on_done: Done) -> None:
        pieces = ((header.base_offset, header.record_count),)
        times = _Times.spread(header.first_timestamp, header.max_timestamp, header.record_count)
        sent = _Sent(pieces, len(batch), times, self.point.offset, self.point.last_fetched_epoch, on_done)
        self._put(batch, sent, self._target)
        self._held += 1

    def _accept_old(self, magic: int, batch: memoryview) -> None:
        """A message set of format 0 or 1: always built anew."""
        if not records.is_intact_old(magic, batch):
            raise self._corrupt(int.from_bytes(batch[:8], "big"))
        wanted = [record for record in records.decode(magic, batch) if record.offset >= self.point.offset]
        if wanted:
            self._accept_old_records(wanted)

    def _accept_old_records(self, wanted: list[Record]) -> None:
        self._read_to(wanted[-1].offset + 1, -1)
        self._send_records(wanted, self._rules.codec or 0, self._target)

    def _corrupt(self, offset: int) -> PartitionFailed:
        reason = f"the batch at offset {offset} fails its checksum on the source"
        return PartitionFailed(self.assignment.source, reason)

    def _rebuild(self, header: BatchHeader, decoded: Iterable[Record]) -> None:
        """Build anew: holes, broker-set times, a start in the middle of a batch, or more than the target may get."""
        wanted = self._wanted(decoded)
        self._read_to(header.last_offset + 1, header.leader_epoch)
        if wanted:
            self._send_records(wanted, self._codec(header), self._target)
            self._sent[-1].next_offset = self.point.offset  # past the holes at the end
        else:
            self._skip(header)

    def _wanted(self, decoded: Iterable[Record]) -> list[Record]:
        """The records that were not read before, and that the target may get."""
        return self._rules.provenance.without_returning(
            record for record in decoded if record.offset >= self.point.offset
        )

    def _send_records(self, wanted: list[Record], compression: int, target: TargetPartition) -> None:
        """Encode and queue; in halves as long as a batch is larger than the target or the ledger allows."""
        data, pieces = records.encode(wanted, compression=compression), _consecutive(wanted)
        if self._is_too_large(len(data)) or len(pieces) > _MOST_PIECES:
            if len(wanted) == 1:
                self.point.offset = wanted[0].offset  # all before it goes its way; here the partition stops
                raise self._oversized(wanted[0].offset, len(data))
            middle = len(wanted) // 2
            self._send_records(wanted[:middle], compression, target)
            self._send_records(wanted[middle:], compression, target)
            return
        stamps = [record.timestamp for record in wanted]
        times = _Times(min(stamps), max(stamps), sum(stamps))
        next_offset = wanted[-1].offset + 1
        epoch = self.point.last_fetched_epoch
        self._put(data, _Sent(pieces, len(data), times, next_offset, epoch), target)

    def _oversized(self, offset: int, size: int) -> PartitionFailed:
        limit, topic = self.assignment.max_batch_bytes, self.assignment.target.topic
        reason = f"the record at offset {offset} makes a batch of {size} bytes, and the target takes {limit}"
        return PartitionFailed(self.assignment.source, f"{reason}; raise max.message.bytes of {topic}")

    def _skip(self, header: BatchHeader) -> None:
        """Pass over a batch: done as soon as all before it is, be that sent already or kept for a moment."""
        self._read_to(header.last_offset + 1, header.leader_epoch)
        if not self._keeps_some:
            self._pass_over()

    def _pass_over(self) -> None:
        """All that was read is done as soon as what was sent is."""
        if self._sent:
            self._sent[-1].next_offset = self.point.offset
            self._sent[-1].leader_epoch = self.point.last_fetched_epoch
        else:
            self._done_to, self._done_epoch = self.point.offset, self.point.last_fetched_epoch

    def _can_pass(self, header: BatchHeader, size: int) -> bool:
        """Whether the batch can leave with its records untouched."""
        if header.base_offset < self.point.offset or not header.can_be_copied or self._is_too_large(size):
            return False
        return self._codec(header) == header.attributes & batches.COMPRESSION_MASK

    def _codec(self, header: BatchHeader) -> int:
        """The codec to write with: the source's, unless another one is forced."""
        return header.attributes & batches.COMPRESSION_MASK if self._rules.codec is None else self._rules.codec

    def _is_too_large(self, size: int) -> bool:
        return size > self.assignment.max_batch_bytes

    def _read_to(self, offset: int, leader_epoch: int) -> None:
        self.point.offset = offset
        self.point.last_fetched_epoch = leader_epoch

    def _put(self, data: Buffer, sent: _Sent, target: TargetPartition) -> None:
        sent.target = target.name
        self._sent.append(sent)
        is_rebuilt = sent.on_done is None
        done = partial(self._appended, sent)
        queued = Queued(data, done, self.assignment.source, is_rebuilt, sent.pieces, sent.leader_epoch)
        self._outgoing.put(target, queued)

    def _appended(self, sent: _Sent, base_offset: int) -> None:
        """Partitions of the target answer each in order; done is only what has all before it done."""
        assert sent.target is not None
        progress = self._progress.get(sent.target)
        if progress is None:
            progress = self._progress[sent.target] = _Progress()
        last = progress.add(sent, base_offset)
        if self.is_read_at_once:
            progress.add_latency(sent.times, sum(length for _, length in sent.pieces))
        if sent.target == self.assignment.target:
            if base_offset <= self._target_offset:
                what = f"{sent.target}: wrote at offset {base_offset} after {self._target_offset}"
                raise TargetCutBack(what, {self.assignment.source: base_offset})
            self._target_offset = last
        sent.is_done = True
        while self._sent and self._sent[0].is_done:
            first = self._sent.popleft()
            self._done_to, self._done_epoch = first.next_offset, first.leader_epoch
        if sent.on_done is not None:
            sent.on_done()


def _together(one: _Times, other: _Times) -> _Times:
    return _Times(min(one.oldest, other.oldest), max(one.newest, other.newest), one.total + other.total)


def _consecutive(wanted: Sequence[Record]) -> list[tuple[int, int]]:
    """Rows of consecutive offsets: where each begins, and how long it is."""
    return _joined((record.offset, 1) for record in wanted)


def _joined(pieces: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Rows of offsets, as few as there can be."""
    rows: list[tuple[int, int]] = []
    begin = end = -1
    for offset, length in pieces:
        if offset == end:
            rows[-1] = (begin, end + length - begin)
        else:
            rows.append((offset, length))
            begin = offset
        end = offset + length
    return rows
