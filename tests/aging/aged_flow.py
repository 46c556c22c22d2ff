"""A flow that looks as if it had run for a year: millions of positions, long offset maps, old owners, ended lanes.

Its positions stand there as lanes write them, each in a transaction that ends with a marker. In each partition of their
topic one is missing, of a partition of the source that never had a record.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from pathlib import Path
from uuid import UUID

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions
from heliograph.kafka.access import Access
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import Summary
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import take_all
from heliograph.ledger import entries, map_records
from heliograph.ledger.map_records import Reached
from heliograph.ledger.offset_map import OffsetMap
from heliograph.ledger.summaries import summary_record
from heliograph.model import (
    ChoreState,
    Event,
    EventKind,
    InternalTopics,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    SourceSight,
    TopicPartition,
)
from tests.aging.logs import Placed, batch_of, committed, in_a_row, lay_down
from tests.chaos.outages import bring_back
from tests.chaos.stage import admin_of, write_settings
from tests.zoo.odd_records import numbered
from tests.zoo.topics import create_topic

SOURCE, TARGET = "old", "vault"
FLOW = f"{SOURCE}->{TARGET}"
OFFSETS_PARTITIONS = 25
RUN, MARKER = 10, 1  # each transaction copied ten records, and ended with a marker
_TOPIC = "aged"
_FIRST_ID = 4_000_000_000
_LANE = ProducerStamp(7, 0, is_transactional=True)
_UNSUMMARIZED = 10_000  # offsets of each partition of the offsets topic
_RECOVERY_SECONDS = 300  # it looks at every batch
_LAST = 10  # records that are still there, on both sides


@dataclass(frozen=True)
class Age:
    """How much a flow has written down."""

    partitions: int
    runs: int  # of each partition, in the offset map
    positions: int  # that nobody has compacted
    owners: int = 5_000
    producer_ids: int = 3_000
    recent_entries: int = 20_000  # of the ledger, which the map has
    reports: int = 20_000  # of tasks, of the source's ends, of what is set aside; nobody has compacted them
    events: int = 20_000  # of the journal
    lanes: int = 32  # that the flow had once


@dataclass(frozen=True)
class AgedFlow:
    """A flow on one cluster, which is its own target under another alias."""

    cluster: EmbeddedCluster
    settings: Path
    age: Age

    @property
    def topics(self) -> InternalTopics:
        """Its internal topics."""
        return InternalTopics(*(f"mm2-{kind.replace('_', '-')}.{SOURCE}.internal" for kind in InternalTopics._fields))

    def source(self, number: int) -> TopicPartition:
        """A partition of the source."""
        return TopicPartition(_TOPIC, number)

    def target(self, number: int) -> TopicPartition:
        """Its copy."""
        return TopicPartition(f"{SOURCE}.{_TOPIC}", number)

    @cached_property
    def fresh(self) -> Sequence[int]:
        """Partitions that never had a record: they have no positions, in each home at least one."""
        homeless, found = set(range(OFFSETS_PARTITIONS)), []
        for number in count(self.age.partitions):
            if not homeless:
                return found
            homeless.discard(self.home(number))
            found.append(number)
        raise AssertionError

    def home(self, number: int) -> int:
        """The partition of the offsets topic that has the position of a partition."""
        return positions.partition_for(positions.encode_key(SOURCE, self.source(number)), OFFSETS_PARTITIONS)

    @property
    def end(self) -> int:
        """Where each partition of the source ends."""
        return self.age.runs * RUN

    @staticmethod
    def copy_of(offset: int) -> int:
        """Where a record of the source lies on the target."""
        return offset + offset // RUN * MARKER


def make_aged_flow(cluster: EmbeddedCluster, settings: Path, age: Age) -> AgedFlow:
    """Create all topics, and lay their logs down; the broker of the cluster is killed for that, and brought back."""
    flow = AgedFlow(cluster, settings, age)
    chosen = {
        f"{FLOW}.topics": _TOPIC,
        "offset.storage.partitions": str(OFFSETS_PARTITIONS),
        "sync.group.offsets.enabled": "true",
        "sync.group.offsets.interval.seconds": "1",
        "emit.checkpoints.interval.seconds": "1",
        "heartbeats.replication.enabled": "false",
    }
    write_settings(settings, {SOURCE: cluster, TARGET: cluster}, [FLOW], chosen)
    servers, topics = cluster.bootstrap_servers, flow.topics
    for name in (_TOPIC, f"{SOURCE}.{_TOPIC}"):
        create_topic(servers, name, age.partitions + len(flow.fresh))
    create_topic(servers, topics.offsets, OFFSETS_PARTITIONS, {"cleanup.policy": "compact"})
    for name in (topics.offset_map, topics.state):
        create_topic(servers, name, settings={"cleanup.policy": "compact"})
    for name in (topics.ledger, topics.journal):
        create_topic(servers, name)
    with admin_of(cluster) as admin:
        ids = {name: info.topic_id for name, info in admin.topics([_TOPIC, topics.ledger, topics.offsets]).items()}
    with opened(Access("here", servers.split(","))) as (_, network):
        take_all(network, [f"heliograph-{FLOW}-{lane}{turn}" for lane in range(age.lanes) for turn in "abc"], 60_000)
    cluster.brokers[0].process.kill()
    for where, batches in _logs(flow, ids):
        lay_down(cluster, where, batches)
    bring_back(cluster, _RECOVERY_SECONDS)
    return flow


def _logs(flow: AgedFlow, ids: Mapping[str, UUID]) -> Iterator[tuple[TopicPartition, Iterator[Placed]]]:
    now_ms = int(time.time() * 1000)
    topic_id, ledger_id, offsets_id = (ids[name] for name in (_TOPIC, flow.topics.ledger, flow.topics.offsets))
    last = batch_of(numbered(_LAST))
    for number in range(flow.age.partitions):
        yield flow.source(number), iter([(flow.end - _LAST, last)])
        yield flow.target(number), iter([(flow.copy_of(flow.end - _LAST), last)])
    for number, homes in _homes(flow).items():
        yield TopicPartition(flow.topics.offsets, number), _positions(flow, homes, topic_id, now_ms)
    yield TopicPartition(flow.topics.offset_map, 0), iter(in_a_row(_map(flow, ledger_id, now_ms)))
    yield TopicPartition(flow.topics.state, 0), iter(in_a_row(_state(flow, topic_id, offsets_id, now_ms)))
    yield TopicPartition(flow.topics.ledger, 0), iter(in_a_row(_ledger(flow, now_ms)))
    yield TopicPartition(flow.topics.journal, 0), iter(in_a_row(_journal(flow, now_ms)))


def _homes(flow: AgedFlow) -> dict[int, list[TopicPartition]]:
    homes: dict[int, list[TopicPartition]] = {number: [] for number in range(OFFSETS_PARTITIONS)}
    for number in range(flow.age.partitions):
        homes[flow.home(number)].append(flow.source(number))
    return homes


def _rounds(flow: AgedFlow) -> int:
    return flow.age.positions // flow.age.partitions - 1


def _positions(flow: AgedFlow, homes: list[TopicPartition], topic_id: UUID, now_ms: int) -> Iterator[Placed]:
    """In turns: old ones of every partition, and at the end the newest ones."""

    def batch(where: TopicPartition, offset: int) -> bytes:
        key, value = positions.encode_key(SOURCE, where), positions.encode_value(_position(flow, offset, topic_id))
        return batch_of([Record(0, now_ms, key, value)], _LANE)

    end = committed(_LANE.producer_id)
    old = [batch(where, 0) for where in homes]
    newest = [batch(where, flow.end - 1) for where in homes]
    for number, data in enumerate(chain(chain.from_iterable(repeat(old, _rounds(flow))), newest)):
        yield 2 * number, data
        yield 2 * number + 1, end


def _position(flow: AgedFlow, offset: int, topic_id: UUID) -> Position:
    return Position(offset, flow.copy_of(offset), str(topic_id))


def _summaries(flow: AgedFlow, topic_id: UUID, offsets_id: UUID, now_ms: int) -> Iterator[bytes]:
    """As the last owner has written them some minutes before it died."""
    before = _position(flow, 0, topic_id)
    for number, homes in _homes(flow).items():
        read_to = max(0, 2 * len(homes) * _rounds(flow) - _UNSUMMARIZED)
        summary = Summary(offsets_id, read_to, now_ms, dict.fromkeys(homes, before))
        yield batch_of([summary_record(number, summary)])


def _entry(flow: AgedFlow, number: int, first_run: int, runs: int, now_ms: int) -> LedgerEntry:
    starts = [run * RUN for run in range(first_run, first_run + runs)]
    found = tuple(Run(start, flow.copy_of(start), RUN) for start in starts)
    done = starts[-1] + RUN - 1
    progress = PartitionProgress(flow.source(number), flow.target(number), found, done, 1_000 * runs, now_ms)
    return LedgerEntry(FLOW, 0, "the last owner", 7, now_ms, (progress,))


def _map(flow: AgedFlow, ledger_id: UUID, now_ms: int) -> Iterator[bytes]:
    offset_map = OffsetMap()
    for number in range(flow.age.partitions):
        offset_map.add(_entry(flow, number, 0, flow.age.runs, now_ms))
    for key, value in offset_map.take_changes().items():
        yield batch_of([Record(0, now_ms, key, value)])
    reached = map_records.encode_reached(Reached(ledger_id, flow.age.recent_entries, "the last owner"))
    yield batch_of([Record(0, now_ms, map_records.reached_key(), reached)])


def _state(flow: AgedFlow, topic_id: UUID, offsets_id: UUID, now_ms: int) -> Iterator[bytes]:
    """Of the producer ids most are packed; the others, and all that is told again and again, stand there singly."""
    single = min(flow.age.producer_ids, entries.PAGE_IDS - 1)
    packed = range(_FIRST_ID, _FIRST_ID + 2 * (flow.age.producer_ids - single), 2)
    yield from (batch_of([page]) for page in entries.producer_pages(packed, now_ms))
    yield from single_ids(range(single), now_ms)
    chores = [ChoreState(f"task {number}", 60.0, now_ms, "", 0, "went well") for number in range(15)]
    sight = SourceSight(now_ms, {flow.source(number): flow.end for number in range(0, flow.age.partitions, 50)})
    reports = [
        batch_of([entries.chores_record(FLOW, "an owner", now_ms, chores)]),
        batch_of([entries.sight_record(FLOW, "an owner", sight)]),
        batch_of([entries.standing_record(LedgerEntry(FLOW, -1, "an owner", -1, now_ms, (), (_event(flow),)))]),
    ]
    for number in range(flow.age.reports):
        yield reports[number % len(reports)]
    yield from _summaries(flow, topic_id, offsets_id, now_ms)
    for number in range(flow.age.owners):
        yield batch_of([entries.owner_record(FLOW, f"owner {number}", now_ms)])
        yield batch_of([entries.deal_record(FLOW, f"owner {number}", 1, now_ms)])


def single_ids(ids: Iterable[int], now_ms: int) -> Iterator[bytes]:
    """Producer ids that nobody has packed."""
    for number in ids:
        yield batch_of([entries.producer_record(FLOW, "an owner", number, now_ms)])


def _event(flow: AgedFlow) -> Event:
    return Event(EventKind.SET_ASIDE, flow.source(0), 0, -1, "a reason of long ago")


def _journal(flow: AgedFlow, now_ms: int) -> Iterator[bytes]:
    """What has happened in the last weeks."""
    entry = LedgerEntry(FLOW, 0, "an owner", 7, now_ms - 7 * 86_400_000, (), (_event(flow),))
    batch = batch_of([entries.record(FLOW, entry.written_at_ms, entries.encode_entry(entry))])
    return iter([batch] * flow.age.events)


def _ledger(flow: AgedFlow, now_ms: int) -> Iterator[bytes]:
    """What the map has already, as far as it was kept."""
    for number in range(flow.age.recent_entries):
        entry = _entry(flow, number % flow.age.partitions, flow.age.runs - 1, 1, now_ms)
        yield batch_of([entries.record(FLOW, now_ms, entries.encode_entry(entry))])


def is_mirrored(flow: AgedFlow, number: int) -> bool:
    """Whether a record that was written lately is there."""
    with admin_of(flow.cluster) as admin:
        where = flow.target(number)
        return admin.stable_offsets([where])[where] > (0 if number in flow.fresh else flow.copy_of(flow.end))
