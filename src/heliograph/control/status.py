"""How a flow stands, read from both clusters and the ledger: from any machine, whether the mirror lives or not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from heliograph.config.flow import FlowConfig
from heliograph.control.ages import first_ages
from heliograph.control.flow_settings import flow_settings
from heliograph.control.ledger_tail import RATE_MS, LedgerTail, read_tail
from heliograph.kafka import reading
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import opened
from heliograph.kafka.newest_positions import newest_positions
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger.summaries import read_summaries
from heliograph.model import ChoreState, Event, Position, TopicPartition
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
    chores: Sequence[ChoreState]
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
        existing = target.topics([settings.topics.offsets, settings.topics.ledger])
    known: dict[TopicPartition, Position] = {}
    tail = LedgerTail(now_ms)
    if len(existing) == 2:  # both book-keeping topics are there: the flow has run before
        with opened(target_admin, list(existing)) as (loop, network):
            summaries = read_summaries(loop, network, settings.topics.state)
            known = newest_positions(loop, network, settings.topics.offsets, flow.source.alias, pairs, summaries)
            tail = read_tail(loop, network, settings.topics, now_ms)
    with opened(source_admin, sorted({where.topic for where in pairs})) as (loop, network):
        starts = reading.list_many(network, dict.fromkeys(pairs, EARLIEST), READ_COMMITTED)
        ends = reading.list_many(network, dict.fromkeys(pairs, LATEST), READ_COMMITTED)
        done = {where: known[where].offset if where in known else -1 for where in pairs}
        ages = first_ages(loop, network, {where: max(done[where] + 1, starts[where]) for where in pairs}, ends, now_ms)
    partitions = [
        PartitionStatus(
            where, pairs[where], done[where], end, ages.get(where, 0.0), tail.set_aside.get(where, ""), starts[where],
        )
        for where, end in sorted(ends.items())
    ]  # fmt: skip
    seconds = RATE_MS / 1000
    return FlowStatus(
        flow.name, tail.owner, tail.last_commit_ms, tail.records / seconds, tail.bytes / seconds,
        partitions, tail.events, tail.chores, now_ms,
    )  # fmt: skip
