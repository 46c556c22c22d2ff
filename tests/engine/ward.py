"""Two mirrored topics, of which one meets with trouble while the other must not notice."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from uuid import UUID

import kafka
from kafka import KafkaAdminClient
from kafka.admin import NewTopic

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import positions, reading
from heliograph.kafka.producing import Batch
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Event, LanePlan, LedgerEntry, Position, TopicPartition
from tests.checker.stock_reader import CommittedReader
from tests.engine.lane_bench import (
    LEDGER_TOPIC,
    OFFSETS_PARTITIONS,
    OFFSETS_TOPIC,
    PATIENCE_SECONDS,
    QUICK,
    Mirror,
)
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.odd_records import numbered
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

GOES_ON = replace(QUICK, goes_on_after_loss=True)


@dataclass
class Ward(Mirror):
    """A mirror of two partitions: the first is the one in trouble, the second is well."""

    copies: CommittedReader | None = None  # reads the target as a stock consumer does
    ledger_from: int = 0  # where the ledger ended before anything of these partitions was in it

    @property
    def bad(self) -> TopicPartition:
        """The source partition that meets with trouble."""
        return next(iter(self.pairs))

    @property
    def well(self) -> TopicPartition:
        """The source partition that must not notice."""
        return list(self.pairs)[1]

    def feed(self, where: TopicPartition, numbers: range) -> None:
        """Append records with these numbers to a source partition, as one batch."""
        raw.append(self.stations.source, where, [raw.batch_of(numbered(len(numbers), numbers.start))])

    def copied(self, where: TopicPartition) -> list[int]:
        """The numbers of the records on the target of a source partition."""
        assert self.copies is not None
        return [int(dict(seen.content.headers)["n"]) for seen in self.copies.read_again(self.pairs[where])]

    def events(self) -> list[Event]:
        """Everything that the ledger tells of these partitions beside progress."""
        return [event for entry in self.entries() for event in entry.events if event.source in self.pairs]

    def entries(self) -> list[LedgerEntry]:
        """All transactions since before these partitions were made, whoever made them."""
        with raw.network(self.stations.target, LEDGER_TOPIC) as (loop, network):
            found = reading.read_to_end(loop, network, LEDGER_TOPIC, {0: self.ledger_from})
            values = [record.value or b"" for _, record in found]
        return [entry for entry in map(entries.decode, values) if isinstance(entry, LedgerEntry)]

    def place(self, position: Position) -> None:
        """Write a position of the bad partition to the target."""
        key = positions.encode_key("primary", self.bad)
        where = TopicPartition(OFFSETS_TOPIC, positions.partition_for(key, OFFSETS_PARTITIONS))
        record = Record(0, int(time.time() * 1000), key, positions.encode_value(position))
        raw.append(self.stations.target, where, [raw.batch_of([record])])

    def topic_id(self) -> UUID:
        """The present id of the bad topic."""
        with raw.network(self.stations.source, self.bad.topic) as (_, network):
            return network.topic_id(self.bad.topic)

    def delete_records(self, before: int) -> None:
        """Delete the records of the bad partition below an offset, as retention does."""
        with closing(KafkaAdminClient(bootstrap_servers=self.stations.source)) as admin:
            admin.delete_records({kafka.TopicPartition(*self.bad): before})

    def delete_topic(self) -> None:
        """Delete the bad topic, and wait until the source knows it no longer."""
        with closing(KafkaAdminClient(bootstrap_servers=self.stations.source)) as admin:
            admin.delete_topics([self.bad.topic])
        with raw.network(self.stations.source) as (_, network):
            wait_until(lambda: bool(network.look_up([self.bad.topic])), "the topic to be gone")

    def create_again(self, numbers: range) -> None:
        """Create the bad topic anew, with these records."""
        create_topic(self.stations.source, self.bad.topic)
        self.feed(self.bad, numbers)

    @contextmanager
    def lane_walk(self, settings: LaneSettings = QUICK, plan: LanePlan | None = None) -> Iterator[LaneWalk]:
        """A lane that is let go step by step, and dropped at the end."""
        walk = LaneWalk()
        with closing(self.lane(walk.is_late, settings, plan)) as lane:
            walk.lane = lane
            yield walk


@dataclass
class LaneWalk:
    """A lane that works only while the test waits for what it should do."""

    lane: Generator[LedgerEntry, None, None] = field(default_factory=lambda: (entry for entry in ()))
    events: list[Event] = field(default_factory=list)
    done: dict[TopicPartition, int] = field(default_factory=dict)
    _deadline: float = 0.0

    def end(self) -> None:
        """Drop the lane."""
        self.lane.close()

    def is_late(self) -> bool:
        """Fails the test when the lane does not do in time what it should; never ends the lane."""
        assert time.monotonic() < self._deadline, f"only got to {self.done} with {self.events}"
        return False

    def until_copied(self, ends: Mapping[TopicPartition, int]) -> None:
        """Let the lane go on until these partitions are done up to, and without, these offsets."""
        self._deadline = time.monotonic() + PATIENCE_SECONDS
        while any(self.done.get(where) != end for where, end in ends.items()):
            self._take(next(self.lane))

    def until_told(self, count: int) -> list[Event]:
        """Let the lane go on until it has told so many events."""
        self._deadline = time.monotonic() + PATIENCE_SECONDS
        while len(self.events) < count:
            self._take(next(self.lane))
        return self.events

    def _take(self, entry: LedgerEntry) -> None:
        self.events.extend(entry.events)
        self.done.update({progress.source: progress.last_offset + 1 for progress in entry.partitions})


class WardStock:
    """Wards that are made many at a time: one lane mirrors the first ten records of them all."""

    def __init__(self, stations: Stations, copies: CommittedReader, at_once: int = 12) -> None:
        self._stations = stations
        self._copies = copies
        self._at_once = at_once
        self._ready: list[Ward] = []

    def take(self) -> Ward:
        """Two topics that nobody else has, of which ten records each are mirrored."""
        if not self._ready:
            self._ready = self._make()
        return self._ready.pop()

    def _make(self) -> list[Ward]:
        names = [fresh_name("ward") for _ in range(2 * self._at_once)]
        create_topics(self._stations.source, names)
        create_topics(self._stations.target, [f"primary.{name}" for name in names])
        pairs = [(TopicPartition(name, 0), TopicPartition(f"primary.{name}", 0)) for name in names]
        ledger_from = self._ledger_end()
        feed_all(self._stations.source, [source for source, _ in pairs], range(10))
        Mirror(self._stations, dict(pairs), f"lane-of-all-from-{names[0]}").copy_all()
        return [
            Ward(self._stations, dict(pairs[n : n + 2]), f"lane-of-{names[n]}", self._copies, ledger_from)
            for n in range(0, len(pairs), 2)
        ]

    def _ledger_end(self) -> int:
        with raw.network(self._stations.target, LEDGER_TOPIC) as (_, network):
            return reading.list_offsets(network, LEDGER_TOPIC, {0: reading.LATEST})[0]


def create_topics(bootstrap_servers: str, names: Sequence[str]) -> None:
    """New topics of one partition each, made by one request, ready to be used; records of any time stay in them."""
    settings = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        admin.create_topics([NewTopic(name, 1, 1, topic_configs=settings) for name in names])
    with raw.network(bootstrap_servers) as (_, network):
        wait_until(lambda: not network.look_up(names), "the new topics to be known")
        reading.list_many(network, {TopicPartition(name, 0): reading.LATEST for name in names})


def feed_all(bootstrap_servers: str, partitions: Sequence[TopicPartition], numbers: range) -> None:
    """Append records with these numbers to each of the partitions, which one broker leads, by one request."""
    with raw.network(bootstrap_servers, *{where.topic for where in partitions}) as (loop, network):
        pieces = [Batch(*where, raw.batch_of(numbered(len(numbers), numbers.start))) for where in partitions]
        answers = raw.send(loop, network, pieces)
    assert [answer.error_code for answer in answers] == [0] * len(partitions)
