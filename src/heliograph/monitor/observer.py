"""Looks at the two clusters of one flow, whoever mirrors: Heliograph or MirrorMaker 2."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from heliograph.config.flow import FlowConfig
from heliograph.config.setting import OriginKind
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Position, TopicPartition
from heliograph.monitor.books import PositionBook, SyncBook
from heliograph.monitor.heartbeats import read_latency
from heliograph.monitor.lag import PartitionFacts, TopicLag, is_exact, partition_lag
from heliograph.monitor.look import Latency, Look, Trouble
from heliograph.monitor.station import Blocked, Station, blaming, station_at
from heliograph.policy.java_regex import JavaPattern
from heliograph.sync.topics import mirrored_names, offsets_topic

_Answer = TypeVar("_Answer")
Positions = Mapping[TopicPartition, Position]


class Observer:
    """Looks again and again at one flow; remembers what it has read, so that the next look is cheap."""

    def __init__(self, flow: FlowConfig, wanted: Sequence[JavaPattern] = ()) -> None:
        self._flow = flow
        self._wanted = wanted
        self._source, self._target = access_for(flow.source, "admin"), access_for(flow.target, "admin")
        self._heartbeats = _heartbeats_topic(flow)
        self._positions, self._syncs = _new_books(flow)

    @property
    def flow(self) -> FlowConfig:
        """The flow that is looked at."""
        return self._flow

    def look(self) -> Look:
        """Ask both clusters; never fails because of them: the look says what could not be read."""
        troubles: list[Trouble] = []
        notes: list[str] = []
        latency: Latency | None = None
        topics: list[TopicLag] = []
        source_topics = _tried(troubles, lambda: _list_topics(self._source))
        target_topics = _tried(troubles, lambda: _list_topics(self._target))
        if target_topics is not None:
            latency = _tried(troubles, lambda: self._latency(target_topics, notes))
        if source_topics is not None and target_topics is not None:
            names = self._chosen(mirrored_names(self._flow, source_topics), notes)
            topics = _tried(troubles, lambda: self._lags(names, troubles)) or []
        if troubles:  # what is remembered may be of no use to whom comes back
            self._positions, self._syncs = _new_books(self._flow)
        at_ms = int(time.time() * 1000)
        return Look(self._source.alias, self._target.alias, at_ms, topics, latency, troubles, notes)

    def _latency(self, target_topics: Collection[str], notes: list[str]) -> Latency | None:
        latency = None
        if self._heartbeats in target_topics:
            with blaming(self._target.alias):
                latency = read_latency(self._target, self._heartbeats)
        if latency is None:
            notes.append(f"{self._target.alias} has no heartbeats in {self._heartbeats}: the latency is not known")
        return latency

    def _chosen(self, names: Mapping[str, str], notes: list[str]) -> dict[str, str]:
        if not self._wanted:
            return dict(names)
        for pattern in self._wanted:
            if not any(pattern.matches(topic) for topic in names):
                notes.append(f"{self._flow.name} mirrors no topic {pattern.pattern}")
        return {topic: name for topic, name in names.items() if any(item.matches(topic) for item in self._wanted)}

    def _lags(self, names: Mapping[str, str], troubles: list[Trouble]) -> list[TopicLag]:
        with (
            station_at(self._source, [*names, self._syncs.topic]) as source,
            station_at(self._target, [*names.values(), self._syncs.topic, self._positions.topic]) as target,
        ):
            troubles += [*source.troubles(), *target.troubles()]
            sides = _Sides(source, target, names)
            readable = [where for topic in names for where in source.partitions(topic) if sides.is_readable(where)]
            # The target is asked first: what it has by then, the source has had before.
            positions = self._read_positions(target, readable)
            syncs = self._read_syncs(source, target, readable, positions)
            facts = sides.facts(readable, positions, syncs)
        return [_topic_lag(topic, names[topic], sides, facts) for topic in names if source.has(topic)]

    def _read_positions(self, target: Station, wanted: Collection[TopicPartition]) -> Positions:
        if not target.has(self._positions.topic):
            return {}
        with blaming(target.alias):
            return dict(self._positions.read(target.loop, target.network, wanted))

    def _read_syncs(
        self, source: Station, target: Station, wanted: Collection[TopicPartition], positions: Positions
    ) -> Mapping[TopicPartition, OffsetSync]:
        """Needed only where MirrorMaker 2 mirrors: its positions are late, or somewhere else."""
        station = source if _syncs_are_on_source(self._flow) else target
        are_exact = all(where in positions and is_exact(positions[where]) for where in wanted)
        if are_exact or not station.has(self._syncs.topic):
            return {}
        with blaming(station.alias):
            return dict(self._syncs.read(station.loop, station.network))


@dataclass(frozen=True)
class _Sides:
    """Both clusters, and the names of topics on the target by those on the source."""

    source: Station
    target: Station
    names: Mapping[str, str]

    def remote(self, where: TopicPartition) -> TopicPartition:
        return TopicPartition(self.names[where.topic], where.partition)

    def is_readable(self, where: TopicPartition) -> bool:
        return not (self.source.is_unreadable(where) or self.target.is_unreadable(self.remote(where)))

    def facts(
        self,
        wanted: Sequence[TopicPartition],
        positions: Positions,
        syncs: Mapping[TopicPartition, OffsetSync],
    ) -> dict[TopicPartition, PartitionFacts]:
        remote = {name: set(self.target.partitions(name)) for name in self.names.values()}
        existing = {self.remote(where) for where in wanted if self.remote(where) in remote[self.names[where.topic]]}
        target_ends = self.target.offsets(existing, LATEST)
        starts, ends = self.source.offsets(wanted, EARLIEST), self.source.offsets(wanted, LATEST)
        return {
            where: PartitionFacts(
                where, starts[where], ends[where], target_ends.get(self.remote(where)), positions.get(where),
                syncs.get(where), str(self.source.network.topic_id(where.topic)),
            )
            for where in wanted
        }  # fmt: skip


def _topic_lag(topic: str, remote: str, sides: _Sides, facts: Mapping[TopicPartition, PartitionFacts]) -> TopicLag:
    partitions = sides.source.partitions(topic)
    lags = [partition_lag(facts[where]) for where in partitions if where in facts]
    unreadable = [where.partition for where in partitions if where not in facts]
    return TopicLag(topic, remote, lags, unreadable)


def _tried(troubles: list[Trouble], action: Callable[[], _Answer]) -> _Answer | None:
    try:
        return action()
    except Blocked as blocked:
        troubles.append(blocked.trouble)
        return None


def _list_topics(access: Access) -> Collection[str]:
    with blaming(access.alias), Admin(access) as admin:
        return admin.topics().keys()


def _heartbeats_topic(flow: FlowConfig) -> str:
    policy = flow.replication_policy
    return policy.format_remote_topic(flow.source.alias, policy.heartbeats_topic())


def _new_books(flow: FlowConfig) -> tuple[PositionBook, SyncBook]:
    other = flow.target if _syncs_are_on_source(flow) else flow.source
    syncs = flow.replication_policy.offset_syncs_topic(other.alias)
    return PositionBook(offsets_topic(flow), flow.source.alias), SyncBook(syncs)


def _syncs_are_on_source(flow: FlowConfig) -> bool:
    """Where MirrorMaker 2 keeps them: on the source unless the file says otherwise, which is not our default."""
    location = flow.setting("offset-syncs.topic.location")
    return location.value == "source" or location.origin.kind is OriginKind.DEFAULT
