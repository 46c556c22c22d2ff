"""What a verification compares: read from the offset map, the positions and both logs' bounds before any record is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from uuid import UUID

from heliograph.config.flow import FlowConfig
from heliograph.errors import ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network, opened
from heliograph.kafka.newest_positions import newest_positions
from heliograph.kafka.patience import Patience
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger.summaries import read_summaries
from heliograph.ledger.writers import FlowWriters
from heliograph.model import Event, LedgerEntry, LeftOut, Position, TopicPartition
from heliograph.recovery.verification.comparison import Rules, Slice
from heliograph.recovery.verification.segments import Bounds, Coverage, PartitionHistory
from heliograph.recovery.verification.source_view import SourceView
from heliograph.sync.ledger_reader import read_newest
from heliograph.sync.topics import flow_topics, ledger_topic, left_out, read_plan
from heliograph.sync.translation import offset_map_of

SLICE_BYTES = 48 * 1024 * 1024
_WHOLE = 1 << 62
_SAMPLE = 1_000  # offsets of the ledger
_MOST_OF_JOURNAL = 50_000  # offsets
_USUAL_RECORD = 1_000.0  # bytes
_SQL = "all of it: records pass through transform.sql, which only a running mirror evaluates"
_STABLE_SECONDS = 10.0  # a committed transaction is told to all its partitions within moments


@dataclass(frozen=True)
class Scope:
    """What the user wants to have compared; all, unless something is said."""

    topics: str | None = None  # a regular expression for whole names of topics of the source
    since_ms: int | None = None
    from_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    opens_all: bool = False

    def has(self, where: TopicPartition) -> bool:
        """Whether a partition of the source is wanted."""
        if self.from_offsets and where not in self.from_offsets:
            return False
        return self.topics is None or re.fullmatch(self.topics, where.topic) is not None


@dataclass(frozen=True)
class PlannedPartition:
    """One partition: what of it is compared, and what not."""

    source: TopicPartition
    target: TopicPartition
    coverage: Coverage
    by_key: bool


@dataclass(frozen=True)
class VerificationPlan:
    """All slices of a verification. Holds secrets: never printed."""

    flow: str
    source: Access = field(repr=False)
    target: Access = field(repr=False)
    rules: Rules
    partitions: Sequence[PlannedPartition]
    left_out: Sequence[str] = ()
    view: SourceView | None = field(default=None, repr=False)

    def slices(self) -> list[Slice]:
        """The work, in parts that can be done in any order."""
        parts = [(item, segment) for item in self.partitions for segment in item.coverage.segments]
        return [
            Slice(number, item.source, item.target, segment, item.by_key)
            for number, (item, segment) in enumerate(parts)
        ]

    def without_partitions(self) -> VerificationPlan:
        """What each part of the work needs of the plan: how to reach both sides, and what counts."""
        return replace(self, partitions=())

    @property
    def bytes(self) -> int:
        """About how much of the source's log there is to compare."""
        return sum(segment.bytes for item in self.partitions for segment in item.coverage.segments)


@dataclass
class Books:
    """What the mirror has written down on the target: history of each partition, positions, who wrote."""

    histories: dict[TopicPartition, PartitionHistory] = field(default_factory=dict)
    positions: dict[TopicPartition, Position] = field(default_factory=dict)
    producer_ids: frozenset[int] = frozenset()


def plan_verification(flow: FlowConfig, scope: Scope | None = None) -> VerificationPlan:
    """Ask both clusters what there is to compare."""
    scope = scope or Scope()
    source, target = access_for(flow.source, "consumer"), access_for(flow.target, "consumer")
    with Admin(access_for(flow.source, "admin")) as here, Admin(access_for(flow.target, "admin")) as there:
        topics = read_plan(flow, here, there)
        existing = there.topics()
        ready = {where: home for where, home in topics.ready_on(existing).items() if scope.has(where)}
        missing = [where for where in topics.mirrored if scope.has(where) and where not in ready]
        shared = set() if flow.sql else _shared(topics.names)
        pairs = {} if flow.sql else {where: home for where, home in ready.items() if where.topic not in shared}
        topic_ids = {name: info.topic_id for name, info in here.topics({where.topic for where in pairs}).items()}
        compacted = compacted_topics(here, there, pairs)
        if ledger_topic(flow) not in existing:
            raise ClusterError(f"{flow.name} has never run: {flow.target.alias} has no ledger of it")
    _check_offsets(scope, pairs)
    books = _read_books(flow, target, pairs)
    with opened(source, {where.topic for where in pairs}) as (loop, network):
        passed_by = {topic: left_out(flow, topic) for topic in topic_ids}
        mirrored_back = _mirrored_back(loop, network, passed_by)
        source_bounds = _bounds(network, pairs)
        starts = _starts(network, pairs, scope)
    with opened(target, {where.topic for where in pairs.values()}) as (_, network):
        target_bounds = _stable_bounds(network, pairs, books)
    planned = []
    for where, home in sorted(pairs.items()):
        by_key = where.topic in compacted
        size = _WHOLE if by_key else SLICE_BYTES
        bounds = source_bounds[where], target_bounds[home]
        coverage = _coverage(books, where, home, topic_ids[where.topic], bounds, starts.get(where, 0), size)
        planned.append(PlannedPartition(where, home, coverage, by_key))
    ours = books.producer_ids if flow.keeps_names else None
    not_compared = [f"{where}: {flow.target.alias} has no partition for it yet" for where in missing]
    not_compared += [_SQL] if flow.sql else []
    not_compared += [f"{topic}: meets other topics in {topics.names[topic]}" for topic in sorted(shared)]
    rules = Rules(mirrored_back, ours, scope.opens_all)
    return VerificationPlan(flow.name, source, target, rules, planned, not_compared, source_view(flow))


def source_view(flow: FlowConfig) -> SourceView:
    """How records of the source should arrive."""
    view = SourceView(flow.transforms, flow.replication_policy, flow.source.alias)
    header = flow.provenance_header
    return replace(view, header=header, way=flow.way, same_names=flow.same_names) if header else view


def _shared(names: Mapping[str, str]) -> set[str]:
    """The topics that transforms send to one and the same topic: what is whose cannot be told there."""
    counts = Counter(names.values())
    return {topic for topic, remote in names.items() if counts[remote] > 1}


def _check_offsets(scope: Scope, pairs: Mapping[TopicPartition, TopicPartition]) -> None:
    if strangers := [str(where) for where in scope.from_offsets if where not in pairs]:
        raise ClusterError(f"{', '.join(strangers)}: not mirrored by this flow")


def _coverage(
    books: Books,
    where: TopicPartition,
    home: TopicPartition,
    topic_id: UUID,
    bounds: tuple[Bounds, Bounds],
    start: int,
    size: int,
) -> Coverage:
    source, target = bounds
    history, position = books.histories.get(where), books.positions.get(where)
    if position is not None and position.topic_id and UUID(position.topic_id) != topic_id:
        why = "all of it: it was mirrored from an earlier topic of that name, and nothing yet from this one"
        return Coverage(left_out=[why], waiting=source.stable - source.first)
    if history is None or history.target != home:
        done = source.first if position is None else max(source.first, position.offset + 1)
        left_out = [] if done <= source.first else [_unknown(source.first, done)]
        return Coverage(left_out=left_out, waiting=max(0, source.stable - done))
    found = history.coverage(source, target, start, size)
    if position is not None and position.offset + 1 > max(history.done, source.first):
        found.left_out.append(_unknown(max(history.done, source.first), position.offset + 1))
        found.waiting = max(0, source.stable - position.offset - 1)
    return found


def _unknown(first: int, end: int) -> str:
    return f"offsets {first} to {end - 1}: it is not written down where they were mirrored to"


def compacted_topics(source: Admin, target: Admin, pairs: Mapping[TopicPartition, TopicPartition]) -> set[str]:
    """The topics of the source that are compacted, there or on the target."""
    homes = {where.topic: home.topic for where, home in pairs.items()}
    here, there = source.topic_settings(set(homes)), target.topic_settings(set(homes.values()))

    def is_compacted(settings: Mapping[str, object]) -> bool:
        return "compact" in str(getattr(settings.get("cleanup.policy"), "value", ""))

    return {
        topic for topic, home in homes.items() if is_compacted(here.get(topic, {})) or is_compacted(there.get(home, {}))
    }


def _read_books(flow: FlowConfig, target: Access, wanted: Collection[TopicPartition]) -> Books:
    topics, offset_map = flow_topics(flow), offset_map_of(flow, wanted)
    starts_at_begin = flow.source.client_settings("consumer")["auto.offset.reset"] == "earliest"
    starts_elsewhere = flow.get("start.timestamp.ms") is not None or flow.get("start.group.id")
    with opened(target, [topics.offsets]) as (loop, network):
        summaries = read_summaries(loop, network, topics.state)
        known = newest_positions(loop, network, topics.offsets, flow.source.alias, wanted, summaries)
        sizes = _RecordSizes(read_newest(loop, network, topics.ledger, _SAMPLE))
        happened: dict[TopicPartition, list[Event]] = {}
        for entry in read_newest(loop, network, topics.journal, _MOST_OF_JOURNAL):
            for event in entry.events:
                happened.setdefault(event.source, []).append(event)
        writers = FlowWriters(loop, network, topics).all() if flow.keeps_names else frozenset()
    histories = {
        where: PartitionHistory(
            part, starts_at_begin and not starts_elsewhere, sizes.of(where.topic), happened.get(where, ())
        )
        for where in wanted
        if (part := offset_map.of(where)) is not None
    }
    return Books(histories, known, writers)


class _RecordSizes:
    """About how large a record of a topic is, by what was mirrored last."""

    def __init__(self, newest: Iterable[LedgerEntry]) -> None:
        self._records: Counter[str] = Counter()
        self._bytes: Counter[str] = Counter()
        for progress in chain.from_iterable(entry.partitions for entry in newest):
            self._records[progress.source.topic] += progress.record_count
            self._bytes[progress.source.topic] += progress.byte_count

    def of(self, topic: str) -> float:
        """In bytes, as they are stored; by all topics for one that nothing was mirrored of lately."""
        if self._records[topic]:
            return self._bytes[topic] / self._records[topic]
        return self._bytes.total() / self._records.total() if self._records.total() else _USUAL_RECORD


def _mirrored_back(loop: Loop, network: Network, passed_by: Mapping[str, LeftOut]) -> dict[str, frozenset[int]]:
    """The producers on the source whose records the flow leaves out, by topic."""
    writers = {
        flow: FlowWriters(loop, network, flow).all()
        for flow in {flow for item in passed_by.values() for flow in item.flows}
    }
    # One set for all topics with the same flows: years of ids, of which each part of the work gets a copy.
    together = {
        flows: frozenset().union(*(writers[flow] for flow in flows))
        for flows in {item.flows for item in passed_by.values()}
    }
    return {topic: together[item.flows] for topic, item in passed_by.items()}


def _starts(network: Network, pairs: Collection[TopicPartition], scope: Scope) -> dict[TopicPartition, int]:
    """The source offsets to begin at."""
    starts = dict(scope.from_offsets)
    if scope.since_ms is None:
        return starts
    found = reading.list_many(network, dict.fromkeys(pairs, scope.since_ms))
    return {where: max(starts.get(where, 0), _WHOLE if at < 0 else at) for where, at in found.items()}


def _bounds(network: Network, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
    firsts = reading.list_many(network, dict.fromkeys(wanted, EARLIEST))
    ends = reading.list_many(network, dict.fromkeys(wanted, LATEST))
    stables = reading.list_many(network, dict.fromkeys(wanted, LATEST), READ_COMMITTED)
    return {where: Bounds(firsts[where], ends[where], stables[where]) for where in wanted}


def _stable_bounds(
    network: Network, pairs: Mapping[TopicPartition, TopicPartition], books: Books
) -> dict[TopicPartition, Bounds]:
    """What the target has; waits a little for transactions whose end is not known to all partitions yet."""
    patience = Patience(_STABLE_SECONDS)
    ends = {pairs[where]: history.target_end for where, history in books.histories.items() if where in pairs}
    while True:
        bounds = _bounds(network, set(pairs.values()))
        hidden = any(bounds[home].stable < min(end, bounds[home].end) for home, end in ends.items())
        if not hidden or not patience.wait():
            return bounds
