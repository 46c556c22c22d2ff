"""Reads ranges of offsets into rows for buckets: many records in each, so that Spark has few to move.

What nobody can read is passed by, and told: it would be the same the next time, and hold detection up for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from heliograph.conflicts.bucket import BUCKETS, bucket_of
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.held_pages import HeldKey
from heliograph.conflicts.totals import PassedBy
from heliograph.engine.conflicts.read_task import ReadTask, TopicOrigin
from heliograph.engine.conflicts.step import HELD, RECORDS, TICK, HeldRow, encode
from heliograph.engine.conflicts.task_pulse import beating_loop
from heliograph.engine.conflicts.view_record import held_of
from heliograph.engine.pulse import Heart
from heliograph.engine.tables.range_reader import check_intact
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.errors import MalformedRecord
from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.ledger.writers import FlowWriters
from heliograph.model import InternalTopics
from heliograph.transforms.message import Header

_FULL = 20_000  # records that wait for others of their bucket

Row = tuple[int, int, bytes]
_Item = TypeVar("_Item")


class RangeRows:
    """The rows of one task."""

    def __init__(self, task: ReadTask, heart: Heart | None = None) -> None:
        self._task = task
        self._heart = heart or Heart.silent()
        self._mirrors: dict[InternalTopics, FlowWriters] = {}
        self.passed_by: list[PassedBy] = []  # what could not be read

    def read(self) -> Iterator[Row]:
        """All rows, those of the views first."""
        task = self._task
        for bucket, tick in task.ticks:
            yield bucket, TICK, tick
        topics = {item.where.topic for item in (*task.ranges, *task.view_ranges)}
        if not topics:
            return
        with opened(task.access, topics, beating_loop(self._heart, "reading")) as (loop, network):
            for chosen in task.view_ranges:
                yield from self._view_rows(loop, network, chosen)
            gathered = _Gathered[Candidate]()
            for chosen in task.ranges:
                for record in self._candidates(loop, network, chosen):
                    gathered.add(bucket_of(record.original_topic, record.key), record)
                    if gathered.is_full:
                        yield from _record_rows(gathered)
            yield from _record_rows(gathered)

    def _candidates(self, loop: Loop, network: Network, chosen: OffsetRange) -> Iterator[Candidate]:
        topic, number = chosen.where
        about = self._task.origins[topic]
        for batch, found in self._readable(loop, network, chosen):
            origin = self._origin(loop, network, about, batch.header.producer_id if batch.magic >= 2 else -1)
            for record in found:
                if record.key is not None and chosen.first <= record.offset < chosen.end:
                    headers = tuple(Header(_as_text(name), value) for name, value in record.headers)
                    yield Candidate(
                        about.told_origin(headers) or origin, about.logical_topic, topic, number, record.offset,
                        record.timestamp, record.key, record.value, headers,
                    )  # fmt: skip

    def _readable(
        self, loop: Loop, network: Network, chosen: OffsetRange
    ) -> Iterator[tuple[CommittedBatch, list[Record]]]:
        """The batches of a range with their records, as far as they can be read."""
        (topic, number), at, end = chosen
        try:
            for batch in reading.read_batches(loop, network, topic, {number: at}, {number: end}):
                at = batch.header.last_offset + 1
                try:
                    check_intact(batch)
                    found = list(records.decode(batch.magic, batch.data))
                except MalformedRecord as error:
                    self._pass_by(chosen, batch.header.base_offset, at, error)
                else:
                    yield batch, found
        except MalformedRecord as error:  # not even where the next batch begins can be told
            self._pass_by(chosen, at, end, error)

    def _pass_by(self, chosen: OffsetRange, first: int, end: int, why: MalformedRecord) -> None:
        self.passed_by.append(PassedBy(chosen.where, first, max(first, end - 1), str(why)))

    def _origin(self, loop: Loop, network: Network, about: TopicOrigin, producer_id: int) -> str:
        """Where the records of a batch were written: names tell, or who has brought it."""
        for alias, topics in about.bringers.items():
            if topics not in self._mirrors:
                self._mirrors[topics] = FlowWriters(loop, network, topics)
            if self._mirrors[topics].wrote(producer_id):
                return alias
        return about.origin

    def _view_rows(self, loop: Loop, network: Network, chosen: OffsetRange) -> Iterator[Row]:
        gathered = _Gathered[HeldKey]()
        logical_topic = self._task.views[chosen.where.topic]
        for batch, found in self._readable(loop, network, chosen):
            for record in found:
                held = held_of(record)
                if record.key is not None and held is not None:
                    gathered.add(bucket_of(logical_topic, record.key), HeldKey(logical_topic, record.key, held))
            if gathered.is_full:
                yield from _held_rows(batch.header.last_offset, gathered)
        yield from _held_rows(chosen.end, gathered)


def _as_text(name: str) -> str:
    """The name of a header. One that is no UTF-8 has halves of surrogate pairs, which cannot be sent to a bucket."""
    return name if name.isascii() else name.encode(errors="surrogateescape").decode(errors="replace")


def _held_rows(place: int, gathered: _Gathered[HeldKey]) -> Iterator[Row]:
    for bucket, items in gathered.take():
        yield bucket, HELD, encode(HeldRow(place, items))


def _record_rows(gathered: _Gathered[Candidate]) -> Iterator[Row]:
    for bucket, items in gathered.take():
        yield bucket, RECORDS, encode(items)


class _Gathered(Generic[_Item]):
    """What waits to become rows."""

    def __init__(self) -> None:
        self._by_bucket: list[list[_Item]] = [[] for _ in range(BUCKETS)]
        self._count = 0

    def add(self, bucket: int, item: _Item) -> None:
        self._by_bucket[bucket].append(item)
        self._count += 1

    @property
    def is_full(self) -> bool:
        return self._count >= _FULL

    def take(self) -> Iterator[tuple[int, list[_Item]]]:
        taken, self._by_bucket, self._count = self._by_bucket, [[] for _ in range(BUCKETS)], 0
        return ((bucket, items) for bucket, items in enumerate(taken) if items)
