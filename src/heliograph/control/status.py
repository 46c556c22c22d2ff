"""How a flow stands, read from both clusters and the ledger: from any machine, whether the mirror lives or not."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from heliograph.config.flow import FlowConfig
from heliograph.control.flow_settings import flow_settings
from heliograph.control.ledger_tail import RATE_MS, LedgerTail, read_tail
from heliograph.control.newest_positions import newest_positions
from heliograph.kafka import batches, fetching, reading
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED, FetchLimits, FetchPoint, FetchSession
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Event, Position, TopicPartition
from heliograph.sync.topics import read_plan

_STALLED_AFTER_MS = 30_000


class Health(Enum):
    """The state of a flow, worst last."""

    UP_TO_DATE = "up to date"
    COPYING = "copying"
    STALLED = "stalled"
    NEVER_RAN = "never ran"


@dataclass(frozen=True)
class PartitionStatus:
    """One partition: where it is mirrored to, how far, and how far behind."""

    source: TopicPartition
    target: TopicPartition
    position: int
    end: int
    lag_seconds: float
    set_aside: str = ""
    start: int = 0

    @property
    def lag_records(self) -> int:
        """Offsets on the source that are not mirrored yet."""
        return max(0, self.end - max(self.position + 1, self.start))


@dataclass(frozen=True)
class FlowStatus:
    """One flow and all its partitions."""

    flow: str
    owner: str
    last_commit_ms: int
    records_per_second: float
    bytes_per_second: float
    partitions: Sequence[PartitionStatus]
    events: Sequence[Event]
    now_ms: int

    @property
    def lag_records(self) -> int:
        """Over all partitions."""
        return sum(partition.lag_records for partition in self.partitions)

    @property
    def lag_seconds(self) -> float:
        """Of the partition that is furthest behind."""
        return max((partition.lag_seconds for partition in self.partitions), default=0.0)

    @property
    def health(self) -> Health:
        """A flow that has something to copy and does not copy it is stalled, whatever it says itself."""
        if not self.owner:
            return Health.NEVER_RAN
        if not self.lag_records:
            return Health.UP_TO_DATE
        is_recent = self.now_ms - self.last_commit_ms < _STALLED_AFTER_MS
        return Health.COPYING if is_recent else Health.STALLED


def read_status(flow: FlowConfig) -> FlowStatus:
    """Ask both clusters."""
    settings = flow_settings(flow)
    now_ms = int(time.time() * 1000)
    source_admin, target_admin = access_for(flow.source, "admin"), access_for(flow.target, "admin")
    with Admin(source_admin) as source, Admin(target_admin) as target:
        pairs = read_plan(flow, source, target).mirrored
        existing = target.topics([settings.offsets_topic, settings.ledger_topic])
    known: dict[TopicPartition, Position] = {}
    tail = LedgerTail(now_ms)
    if len(existing) == 2:  # both book-keeping topics are there: the flow has run before
        with _network(target_admin, list(existing)) as (loop, network):
            known = newest_positions(loop, network, settings.offsets_topic, flow.source.alias, pairs)
            tail = read_tail(loop, network, settings.ledger_topic, now_ms)
    with _network(source_admin, sorted({where.topic for where in pairs})) as (loop, network):
        starts, ends = _offsets(network, pairs, EARLIEST), _offsets(network, pairs, LATEST)
        done = {where: known[where].offset if where in known else -1 for where in pairs}
        ages = _ages(loop, network, {where: max(done[where] + 1, starts[where]) for where in pairs}, ends, now_ms)
    partitions = [
        PartitionStatus(
            where, pairs[where], done[where], end, ages.get(where, 0.0), tail.set_aside.get(where, ""), starts[where],
        )
        for where, end in sorted(ends.items())
    ]  # fmt: skip
    seconds = RATE_MS / 1000
    return FlowStatus(
        flow.name, tail.owner, tail.last_commit_ms, tail.records / seconds, tail.bytes / seconds,
        partitions, tail.events, now_ms,
    )  # fmt: skip


@contextmanager
def _network(access: Access, topics: list[str]) -> Iterator[tuple[Loop, Network]]:
    loop = Loop()
    try:
        network = Network(loop, access)
        network.refresh(topics)
        yield loop, network
    finally:
        loop.close()


def _offsets(network: Network, partitions: Collection[TopicPartition], when: int) -> dict[TopicPartition, int]:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    return {
        TopicPartition(topic, partition): offset
        for topic, members in by_topic.items()
        for partition, offset in reading.list_offsets(
            network, topic, dict.fromkeys(members, when), READ_COMMITTED
        ).items()
    }


def _ages(
    loop: Loop,
    network: Network,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    now_ms: int,
) -> dict[TopicPartition, float]:
    """For each partition that is behind, how old its first record is that is not mirrored yet, in seconds."""
    ages: dict[TopicPartition, float] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    for where, offset in starts.items():
        if offset < ends[where]:
            by_leader.setdefault(network.leader(*where).broker_id, []).append(where)
    for broker_id, members in by_leader.items():
        connection = network.connection(broker_id)
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        limits = FetchLimits(max_wait_ms=100, max_bytes=1 << 20, partition_max_bytes=1024)
        for where in members:
            session = FetchSession(version, limits, is_remembered=False)
            session.add(FetchPoint(where.topic, network.topic_id(where.topic), where.partition, starts[where]))
            for fetched in reading.fetch_once(loop, connection, session).partitions:
                for magic, batch in batches.split(fetched.records):
                    if magic >= 2:
                        ages[where] = max(0.0, (now_ms - batches.read_header(batch).max_timestamp) / 1000)
                    break
    return ages
