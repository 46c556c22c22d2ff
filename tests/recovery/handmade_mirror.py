"""A mirrored partition made by hand: any records on both sides, and a ledger that says how one became the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.kafka import positions, writing
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.connection import Buffer
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Event, LedgerEntry, PartitionProgress, Position, Run, TopicPartition
from heliograph.sync.topics import create_topics, flow_topics, internal_topics, offsets_topic
from tests.sync.moving import Moving
from tests.zoo import raw
from tests.zoo.topics import create_topic

PRODUCER_ID = 4_242
TIME = 1_700_000_000_000


def some_records(count: int, size: int = 20, first: int = 0) -> list[Record]:
    """Records that all differ."""
    return [
        Record(0, TIME + n, b"key %d" % n, (b"value %d " % n).ljust(size, b"."), [("header", b"%d" % n)])
        for n in range(first, first + count)
    ]


def in_batches(records: Sequence[Record], size: int, compression: int = 0) -> list[Buffer]:
    """The records in batches of so many, as any producer could have made them."""
    stamp = ProducerStamp(-1, -1, is_transactional=False)
    pieces = [records[start : start + size] for start in range(0, len(records), size)]
    return [raw.batch_of(piece, compression, stamp) for piece in pieces]


@dataclass(frozen=True)
class HandmadeMirror:
    """One partition of a flow, of which no mirror has ever run."""

    moving: Moving
    source: TopicPartition
    target: TopicPartition

    @classmethod
    def of(cls, moving: Moving, topic: str, settings: dict[str, str] | None = None) -> HandmadeMirror:
        """An empty topic on both sides, and empty books."""
        flow = moving.flow
        remote = flow.replication_policy.format_remote_topic(flow.source.alias, topic)
        create_topic(moving.source, topic, settings=settings)
        create_topic(moving.target, remote, settings=settings)
        with Admin(access_for(flow.target, "admin")) as admin:
            create_topics(internal_topics(flow), admin)
        made = cls(moving, TopicPartition(topic, 0), TopicPartition(remote, 0))
        made._append(flow_topics(flow).state, 0, entries.owner_record(flow.name, "test", TIME))
        made._append(flow_topics(flow).state, 0, entries.producer_record(flow.name, "test", PRODUCER_ID, TIME))
        return made

    def write(self, source: Sequence[Buffer], target: Sequence[Buffer]) -> None:
        """Append batches to both sides."""
        raw.append(self.moving.source, self.source, source)
        raw.append(self.moving.target, self.target, target)

    def enter(self, runs: Sequence[Run], events: Sequence[Event] = (), byte_count: int = 1000) -> LedgerEntry:
        """Write down that records were copied so."""
        flow = self.moving.flow
        last = runs[-1]
        done = last.source + last.length - 1
        progress = PartitionProgress(self.source, self.target, runs, done, byte_count, TIME)
        entry = LedgerEntry(flow.name, 0, "test", PRODUCER_ID, TIME, (progress,), tuple(events))
        record = Record(0, TIME, b"", entries.encode_entry(entry))
        self._append(flow_topics(flow).ledger, 0, record)
        if events:
            self._append(flow_topics(flow).journal, 0, record)
        self.stand_at(Position(done, last.target + last.length - 1))
        return entry

    def stand_at(self, position: Position) -> None:
        """Write down how far the source was mirrored."""
        flow = self.moving.flow
        key = positions.encode_key(flow.source.alias, self.source)
        home = positions.partition_for(key, flow.number("offset.storage.partitions"))
        self._append(offsets_topic(flow), home, Record(0, TIME, key, positions.encode_value(position)))

    def _append(self, topic: str, partition: int, record: Record) -> None:
        with opened(access_for(self.moving.flow.target, "producer"), [topic]) as (loop, network):
            writing.append(loop, network, TopicPartition(topic, partition), [record])
