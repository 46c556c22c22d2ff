"""One transaction of a task: decisions, changes of views, and how far its buckets are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from heliograph.conflicts import decision
from heliograph.conflicts.brevity import LARGEST_DECISION
from heliograph.conflicts.settlement import Change, Told
from heliograph.engine.conflicts import step
from heliograph.engine.conflicts.progress import Progress, progress_of, progress_record, run_of
from heliograph.engine.conflicts.step import Mark, Tick
from heliograph.engine.conflicts.task_pulse import beating_loop
from heliograph.engine.conflicts.view_record import view_record
from heliograph.engine.fault_points import reached
from heliograph.engine.pulse import Heart
from heliograph.engine.tables.appending import Appending, Stream, record_size
from heliograph.errors import DataError, TakenOver
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition

_TIMEOUT_MS = 60_000
_ATTEMPTS = 8  # more than Spark makes of a task
_LZ4 = 3
_LARGEST_BATCH = 2 * LARGEST_DECISION  # the topics themselves say how much they take


@dataclass(frozen=True)
class WriterSettings:
    """Where a task writes to; travels pickled, and is never shown."""

    access: Access
    progress_topic: str
    id_prefix: str
    tasks: int
    views: Mapping[str, str] = field(default_factory=dict)  # the topic of each logical topic's view


@dataclass(frozen=True)
class TaskReport:
    """What a task has committed, for the driver."""

    task: int
    epoch: int
    marks: Mapping[int, Mark]
    told: Mapping[str, int]  # decisions of each logical topic


class TaskWriter:
    """Writes what the buckets of a task tell."""

    def __init__(self, settings: WriterSettings, task: int, heart: Heart | None = None) -> None:
        self._settings = settings
        self._heart = heart or Heart.silent()
        self._task = task
        self._marks: dict[int, Mark] = {}
        self._told: dict[str, int] = {}
        self._tick: Tick | None = None
        self._streams: dict[TopicPartition, Stream] = {}
        self._counts: dict[str, int] = {}

    def write(self, rows: Iterator[pa.RecordBatch]) -> TaskReport | None:
        """Commit all rows, unless an earlier attempt did; None if there are none."""
        topics = {decision.TOPIC, self._settings.progress_topic, *self._settings.views.values()}
        with opened(self._settings.access, topics, beating_loop(self._heart, "writing")) as (_, network):
            producer = TransactionalProducer(network, f"{self._settings.id_prefix}{self._task}", _TIMEOUT_MS)
            reached("decisions-fenced")
            recent = self._recent(network)
            appending = Appending(network.loop, network, producer)
            for batch in rows:
                for data in batch.column(0).to_pylist():
                    self._take(step.decode_outcome(data), network, appending)
                appending.advance()
            tick = self._tick
            if tick is None:
                return None
            with reading.placed(f"{self._settings.progress_topic}-0"):
                self._check_owner(tick, recent)
                before = self._last_progress(recent)
            if before is None or (before.run, before.epoch) != (tick.run, tick.epoch):
                self._append(network, appending, TopicPartition(self._settings.progress_topic, 0), self._progress(tick))
                appending.finish(self._streams.values())
                reached("decisions-written")
                producer.end(commit=True)
                reached("decisions-committed")
            elif producer.joined:
                appending.finish(self._streams.values())
                producer.end(commit=False)
            return TaskReport(self._task, tick.epoch, self._marks, self._told)

    def _recent(self, network: Network) -> list[Record]:
        """The end of the topic of progress: tasks of one epoch write little between two attempts of one of them."""
        topic = self._settings.progress_topic
        first = reading.list_offsets(network, topic, {0: EARLIEST})[0]
        end = reading.list_offsets(network, topic, {0: LATEST})[0]
        start = max(first, end - 2 * _ATTEMPTS * self._settings.tasks)
        return [record for _, record in reading.read_to_end(network.loop, network, topic, {0: start})]

    def _check_owner(self, tick: Tick, recent: Sequence[Record]) -> None:
        """Whoever takes over announces that first and fences tasks then: one that begins later finds it here."""
        owner = run_of(recent[-1]) if recent else tick.run
        if owner != tick.run:
            raise TakenOver(f"{self._settings.progress_topic} now belongs to {owner}; this mirror ({tick.run}) stops")

    def _last_progress(self, recent: Iterable[Record]) -> Progress | None:
        found = None
        for record in recent:
            found = progress_of(record, self._task) or found
        return found

    def _take(self, outcome: step.Outcome, network: Network, appending: Appending) -> None:
        if outcome.tick is not None and outcome.mark is not None:
            self._tick = outcome.tick
            self._marks[outcome.bucket] = outcome.mark
        for told in outcome.told:
            self._tell(told, network, appending)
        for change in outcome.changes:
            self._change(change, network, appending)

    def _tell(self, told: Told, network: Network, appending: Appending) -> None:
        self._told[told.topic] = self._told.get(told.topic, 0) + 1
        record = Record(0, _now_ms(), told.key, told.data)
        self._append(network, appending, TopicPartition(decision.TOPIC, 0), record)

    def _change(self, change: Change, network: Network, appending: Appending) -> None:
        topic = self._settings.views[change.topic]
        if topic not in self._counts:
            self._counts[topic] = len(network.partitions(topic))
        number = positions.partition_for(change.key, self._counts[topic])
        self._append(network, appending, TopicPartition(topic, number), view_record(change.key, change.held))

    def _append(self, network: Network, appending: Appending, where: TopicPartition, record: Record) -> None:
        stream = self._streams.get(where)
        if stream is None:
            target = appending.outgoing.partition(where)
            stream = self._streams[where] = Stream(target, where, compression=_LZ4, largest_batch=_LARGEST_BATCH)
        size = record_size(record)
        if stream.may_be_too_large(size):
            raise DataError(f"{where}: a record of {size} bytes is larger than brokers take")
        appending.add(stream, record, size)

    def _progress(self, tick: Tick) -> Record:
        made = Progress(tick.run, tick.epoch, tick.places, self._marks, tick.topic_ids)
        return progress_record(self._task, made, _now_ms())


def _now_ms() -> int:
    return int(time.time() * 1000)
