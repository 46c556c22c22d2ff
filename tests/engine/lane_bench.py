"""Lanes at work in this process, between real clusters: what all tests of lanes share."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import kafka
from kafka import KafkaConsumer

from heliograph.engine.lane import Lane
from heliograph.engine.settings import LaneSettings
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Assignment, InternalTopics, LanePlan, LedgerEntry, Position, Run, TopicPartition
from tests.checker import compare
from tests.checker.stock_reader import read_committed
from tests.zoo import raw
from tests.zoo.stations import Stations

OFFSETS_TOPIC = "lane-test.mm2-offsets.primary.internal"  # the names without prefix belong to tests of whole flows
LEDGER_TOPIC = "lane-test.mm2-ledger.primary.internal"
TOPICS = InternalTopics(
    OFFSETS_TOPIC,
    LEDGER_TOPIC,
    "lane-test.mm2-offset-map.primary.internal",
    "lane-test.mm2-state.primary.internal",
    "lane-test.mm2-journal.primary.internal",
    "lane-test.mm2-declarations.primary.internal",
)
OFFSETS_PARTITIONS = 25
PATIENCE_SECONDS = 60.0
QUICK = LaneSettings(commit_interval=0.2, limits=FetchLimits(max_wait_ms=50))


@dataclass
class Mirror:
    """Source topics, their copies, and lanes between them."""

    stations: Stations
    pairs: dict[TopicPartition, TopicPartition]
    transactional_id: str

    def plan(self, **changes: object) -> LanePlan:
        """The plan of one lane that copies all pairs."""
        plan = LanePlan(
            flow="primary->backup",
            lane=0,
            owner="test",
            deal=1,
            transactional_ids=[f"{self.transactional_id}-{turn}" for turn in "abc"],
            name=f"{self.transactional_id}-",
            topics=TOPICS,
            assignments=[Assignment(source, target) for source, target in self.pairs.items()],
            offsets_read_to=dict.fromkeys(range(OFFSETS_PARTITIONS), 0),
            spare_ids=[f"{self.transactional_id}-{turn}" for turn in "defghi"],
            gate_id=f"{self.transactional_id}-z",
        )
        return replace(plan, **changes)  # type: ignore[arg-type]

    def lane(
        self, should_end: Callable[[], bool], settings: LaneSettings = QUICK, plan: LanePlan | None = None
    ) -> Generator[LedgerEntry, None, None]:
        """A lane at work: each entry is a committed transaction."""
        source = Access("primary", self.stations.source.split(","))
        target = Access("backup", self.stations.target.split(","))
        yield from Lane(plan or self.plan(), source, target, settings, should_end).run()

    def copy_all(self, settings: LaneSettings = QUICK, plan: LanePlan | None = None) -> list[LedgerEntry]:
        """Run a lane until every source partition is done up to its last stable offset."""
        ends = self.ends()
        done = dict.fromkeys(self.pairs, 0)
        deadline = time.monotonic() + PATIENCE_SECONDS
        entries = []

        def should_end() -> bool:
            assert time.monotonic() < deadline, f"copied only {done} of {ends}"
            return all(done[source] >= ends[source] for source in self.pairs)

        for source, position in self.positions().items():
            done[source] = position.offset + 1
        for entry in self.lane(should_end, settings, plan):
            entries.append(entry)
            done.update({progress.source: progress.last_offset + 1 for progress in entry.partitions})
        return entries

    def ends(self) -> dict[TopicPartition, int]:
        """The last stable offsets of the source partitions."""
        with raw.network(self.stations.source, *{source.topic for source in self.pairs}) as (_, network):
            return reading.list_many(network, dict.fromkeys(self.pairs, reading.LATEST), isolation=1)

    def positions(self) -> dict[TopicPartition, Position]:
        """The positions on the target, read by key, as Kafka Connect would."""
        with raw.network(self.stations.target, OFFSETS_TOPIC) as (loop, network):
            starts = dict.fromkeys(range(OFFSETS_PARTITIONS), 0)
            values = {
                record.key: record.value for _, record in reading.read_to_end(loop, network, OFFSETS_TOPIC, starts)
            }
        found = {
            source: positions.decode_value(values.get(positions.encode_key("primary", source))) for source in self.pairs
        }
        return {source: position for source, position in found.items() if position is not None}

    def runs(self, source: TopicPartition) -> list[Run]:
        """All runs of a source partition in the ledger."""
        with raw.network(self.stations.target, LEDGER_TOPIC) as (loop, network):
            values = [record.value or b"" for _, record in reading.read_to_end(loop, network, LEDGER_TOPIC, {0: 0})]
        copied = [entry for entry in map(entries.decode, values) if isinstance(entry, LedgerEntry)]
        return [run for entry in copied for item in entry.partitions if item.source == source for run in item.runs]

    def assert_equal(self, at_least: int = 1) -> None:
        """Every committed source record is on the target, once, in order, unchanged."""
        report = compare(self.stations.source, self.stations.target, self.pairs)
        assert report.is_equal, report
        assert report.record_count >= at_least, report

    def assert_ledger_maps_every_record(self) -> None:
        """By its runs every source offset leads to the record with its content."""
        for source, target in self.pairs.items():
            arrived = {item.offset: item.content for item in read_committed(self.stations.target, target)}
            mapped = {run.source + i: run.target + i for run in self.runs(source) for i in range(run.length)}
            written = list(read_committed(self.stations.source, source))
            assert sorted(mapped) == [item.offset for item in written]
            assert all(arrived[mapped[item.offset]] == item.content for item in written)

    def write(self, batches: Iterable[Sequence[Record]], partition: int = 0) -> None:
        """Append batches of records to one of the source partitions."""
        where = next(source for source in self.pairs if source.partition == partition)
        raw.append(self.stations.source, where, [raw.batch_of(batch) for batch in batches])

    def target_end(self, isolation_level: str = "read_uncommitted") -> int:
        """How far the first target partition reaches, with or without what is not committed."""
        where = kafka.TopicPartition(*next(iter(self.pairs.values())))
        consumer = KafkaConsumer(bootstrap_servers=self.stations.target, isolation_level=isolation_level)
        with closing(consumer):
            return int(consumer.end_offsets([where])[where])


MakeMirror = Callable[..., Mirror]


def only_source(mirror: Mirror) -> TopicPartition:
    """The source partition of a mirror that has but one."""
    [source] = mirror.pairs
    return source
