"""One source partition whose records are looked at one by one: changed, left out, sent elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from heliograph.engine.copying import CopyRules, Done, PartitionCopy
from heliograph.engine.dead_letters import dead_letter
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.engine.pulse import USERS_SECONDS
from heliograph.engine.target_topics import TargetTopics
from heliograph.engine.transforming import Placed, Result, Transformer, TransformSettings
from heliograph.errors import DataError, PartitionFailed, RetryLater, TransformWaits
from heliograph.kafka import records
from heliograph.kafka.batches import BatchHeader
from heliograph.kafka.fetching import FetchPoint
from heliograph.kafka.records import Record
from heliograph.model import Assignment, Event, EventKind, PartitionProgress, Position, TopicPartition
from heliograph.transforms.chain import Failed

_JOINED_BYTES = 512 * 1024  # of records that leave together
_ROUTING = "routing"
_SMALL_CHANGE = 200  # bytes of a batch that are not its records


@dataclass(frozen=True)
class TransformTools:
    """What the transformed partitions of a lane share."""

    flow: str
    settings: TransformSettings
    topics: TargetTopics
    may_wait: Callable[[TopicPartition, int], bool]  # whether a record may be tried again, rather than given up
    before: Callable[[str, float], None] = lambda *_: None  # told of steps that may take long


class TransformedCopy(PartitionCopy):
    """Copies one source partition through transforms.

    Records of several batches are gathered until they are worth a batch of their own; where all records of a batch
    leave as they came, the batch does too. One source partition may write to many of the target: all that was read
    must be appended before a transaction ends, so that its position is true.
    """

    def __init__(
        self,
        assignment: Assignment,
        point: FetchPoint,
        target: TargetPartition,
        outgoing: Outgoing,
        target_offset: int,
        rules: CopyRules,
        is_new: bool,
        transformer: Transformer,
        tools: TransformTools,
        partitions: int,
    ) -> None:
        """`partitions` is how many the source topic has: as many get topics that records are routed to."""
        super().__init__(assignment, point, target, outgoing, target_offset, rules, is_new)
        self._transformer = transformer
        self._tools = tools
        self._partitions = partitions
        self._most_bytes = assignment.max_batch_bytes - _SMALL_CHANGE  # what is sure to fit
        self._gathered: dict[TopicPartition, tuple[TargetPartition, list[Record]]] = {}
        self._gathered_bytes = 0
        self._gathered_codec = 0
        self._dropped = 0
        self._failures: list[tuple[int, Failed]] = []

    def take_progress(self) -> tuple[list[PartitionProgress], Position]:
        """As ever, with how many records did not arrive."""
        [own, *others], position = super().take_progress()
        own = replace(own, dropped=self._dropped, failed=len(self._failures))
        self._dropped, self._failures = 0, []
        others = [item for item in others if item.target.topic != self._tools.settings.dead_letters]
        return [own, *others], position

    def failure_event(self) -> Event | None:
        """What to tell of the records that have failed since the last commit: the first of them, and how many."""
        if not self._failures:
            return None
        (first, failed), count = self._failures[0], len(self._failures)
        what = "1 record could not be transformed" if count == 1 else f"{count} records could not be transformed"
        reason = f"{what}: {failed}; see {self._tools.settings.dead_letters}"
        last = self._failures[-1][0]
        return Event(EventKind.DEAD_LETTERS, self.assignment.source, first, last + 1, reason)

    # -- what comes in --------------------------------------------------------------------------------------------

    def _accept_records(self, header: BatchHeader, batch: memoryview, on_done: Done) -> None:
        if self._transformer.drops_all:
            self._flush_small(on_done)
            self._dropped += header.record_count
            self._skip(header)
            return
        wanted = self._wanted(records.decode(2, batch))
        results = self._transformed(wanted)
        if results == wanted:  # the same objects, which takes no time to find out
            self._flush_gathered()
            super()._accept_records(header, batch, on_done)
            return
        super()._flush_small(on_done)
        self._gather(wanted, results, self._codec(header))
        self._read_to(header.last_offset + 1, header.leader_epoch)
        if self._gathered:
            if self._gathered_bytes > _JOINED_BYTES:
                self._flush_gathered()
        else:
            self._skip(header)

    def _accept_old_records(self, wanted: list[Record]) -> None:
        self._gather(wanted, self._transformed(wanted), self._rules.codec or 0)
        self._read_to(wanted[-1].offset + 1, -1)
        if not self._gathered:
            self._pass_over()

    def _transformed(self, wanted: list[Record]) -> list[Result]:
        self._tools.before(f"transforming records of {self.assignment.source}", USERS_SECONDS)
        return self._transformer.run(wanted)

    @property
    def _keeps_some(self) -> bool:
        return super()._keeps_some or bool(self._gathered)

    def _flush_small(self, on_done: Done) -> None:
        super()._flush_small(on_done)
        self._flush_gathered()

    # -- what becomes of it ---------------------------------------------------------------------------------------

    def _gather(self, wanted: list[Record], results: list[Result], codec: int) -> None:
        home = self.assignment.target
        if codec != self._gathered_codec:
            self._flush_gathered()
            self._gathered_codec = codec
        for record, result in zip(wanted, results, strict=True):
            if result is None:
                self._dropped += 1
            elif isinstance(result, Failed):
                self._fail(record, result)
            else:
                target, leaving = result if isinstance(result, Placed) else (home, result)
                self._place(record, target, leaving)

    def _place(self, record: Record, where: TopicPartition, leaving: Record) -> None:
        size = _size(leaving)
        if size > self._most_bytes and self._cannot_leave(leaving):
            self._fail(record, _too_large(self.assignment.max_batch_bytes))
            return
        gathered = self._gathered.get(where)
        if gathered is None:
            try:
                target = self._tools.topics.partition(where, self._partitions)
            except DataError as error:
                self._fail(record, Failed(_ROUTING, type(error).__name__, error))
                return
            gathered = self._gathered[where] = (target, [])
        gathered[1].append(leaving)
        self._gathered_bytes += size

    def _fail(self, record: Record, failed: Failed) -> None:
        """Try again later, stop, or write a dead letter: by the rules of the flow."""
        source, settings = self.assignment.source, self._tools.settings
        if isinstance(failed.error, RetryLater) and self._tools.may_wait(source, record.offset):
            raise TransformWaits(f"{source} offset {record.offset}: {failed}")
        if settings.stops_on_failure:
            self._read_to(record.offset, self.point.last_fetched_epoch)  # all before it goes its way
            self._flush_gathered()
            raise PartitionFailed(source, f"the record at offset {record.offset} cannot be transformed: {failed}")
        self._failures.append((record.offset, failed))
        shows = settings.shows_content
        if shows is None:
            shows = not self._transformer.hides_data
        letter = dead_letter(record, source, self._tools.flow, failed, shows)
        if _size(letter) > self._most_bytes and self._cannot_leave(letter):
            letter = dead_letter(record, source, self._tools.flow, failed, shows_content=False)
        where = TopicPartition(settings.dead_letters, 0)
        target = self._tools.topics.partition(where, 1)
        self._gathered.setdefault(where, (target, []))[1].append(letter)

    def _cannot_leave(self, record: Record) -> bool:
        """Whether a record alone is more than the target takes in a batch."""
        return self._is_too_large(len(records.encode([record], compression=self._gathered_codec)))

    def _flush_gathered(self) -> None:
        """Send what was gathered; done is none of it before all of it is."""
        gathered, self._gathered, self._gathered_bytes = self._gathered, {}, 0
        if not gathered:
            return
        before = self._sent[-1].next_offset if self._sent else self._done_to
        first = len(self._sent)
        for target, some in gathered.values():
            self._send_records(some, self._gathered_codec, target)
        for index in range(first, len(self._sent)):
            self._sent[index].next_offset = before
        self._pass_over()


def _size(record: Record) -> int:
    size = len(record.value or b"") + len(record.key or b"")
    return size + sum(len(name) + len(value or b"") + 4 for name, value in record.headers) if record.headers else size


def _too_large(limit: int) -> Failed:
    return Failed(
        _ROUTING, "DataError", DataError(f"it makes a batch larger than the {limit} bytes that the target takes")
    )
