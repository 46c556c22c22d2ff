"""Offsets of one cluster as offsets of another, over the flows between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import TopicInfo
from heliograph.model import TopicPartition
from heliograph.sync.ledger_reader import LedgerReader
from heliograph.sync.offset_map import RUNS_PER_PARTITION, Place
from heliograph.sync.topics import ledger_topic, mirrored_names

Offset = tuple[TopicPartition, int]


@dataclass(frozen=True)
class Translation:
    """Where a consumer goes on that would read this offset next; exact if it neither misses nor repeats a record."""

    target: TopicPartition
    offset: int
    is_exact: bool


@dataclass(frozen=True)
class Bounds:
    """The first offset that a partition has, and the one that its next record gets."""

    first: int
    end: int


class Translator:
    """Translates from the source of a flow to its target.

    What the target's own flow has brought to the source is translated back home, by the ledger of that flow. Where
    both flows keep the names, a topic mixes records of both clusters: the earlier of both answers is right.
    """

    def __init__(
        self,
        flow: FlowConfig | None,
        opposite: FlowConfig | None,
        runs_per_partition: int = RUNS_PER_PARTITION,
    ) -> None:
        self._flow = flow if flow and flow.enabled else None
        self._opposite = opposite if opposite and opposite.enabled else None
        self._forth = _reader(self._flow, runs_per_partition) if self._flow else None
        self._back = _reader(self._opposite, runs_per_partition) if self._opposite else None
        self._names: dict[str, str] = {}
        self._home_names: dict[str, str] = {}
        self._target_topics: Mapping[str, TopicInfo] = {}
        self._has_run = False

    def read(self, source: Admin, target: Admin, only: Collection[TopicPartition] | None = None) -> None:
        """Learn what there is now on both clusters and in the ledgers; there perhaps only of some source partitions."""
        source_topics, target_topics = source.topics(), target.topics()
        self._target_topics = target_topics
        if self._flow and self._forth:
            self._names = mirrored_names(self._flow, source_topics)
            self._forth.offset_map.only = only
            self._has_run |= self._forth.read({name: info.topic_id for name, info in source_topics.items()})
        if self._opposite and self._back:
            mirrored = mirrored_names(self._opposite, target_topics)
            self._home_names = {remote: topic for topic, remote in mirrored.items() if remote in source_topics}
            self._back.offset_map.only = None if only is None else self._homes(only)
            self._has_run |= self._back.read({name: info.topic_id for name, info in target_topics.items()})

    @property
    def has_run(self) -> bool:
        """Whether there is a ledger of either flow."""
        return self._has_run

    def _homes(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        names = self._home_names
        return {TopicPartition(names[topic], number) for topic, number in partitions if topic in names}

    def target_of(self, where: TopicPartition) -> TopicPartition | None:
        """The partition on the target, whether it exists or not; None if the topic is not mirrored either way."""
        name = self._names.get(where.topic) or self._home_names.get(where.topic)
        return None if name is None else TopicPartition(name, where.partition)

    def exists(self, target: TopicPartition) -> bool:
        """Whether the target has such a partition."""
        return target.topic in self._target_topics and target.partition < self._target_topics[target.topic].partitions

    def translate(self, offsets: Iterable[Offset], source: Admin, target: Admin) -> dict[Offset, Translation]:
        """The places on the target of all offsets that have one."""
        homes = {item: self.target_of(item[0]) for item in set(offsets)}
        found = {item: home for item, home in homes.items() if home is not None and self.exists(home)}
        bounds = read_bounds(target, set(found.values()))
        unknown = {item[0] for item in found if not any(self._places(*item))}
        firsts = source.earliest_offsets(unknown)
        return {
            item: _within(home, self._place(item, bounds[home], firsts), bounds[home]) for item, home in found.items()
        }

    def _place(self, item: Offset, target: Bounds, firsts: Mapping[TopicPartition, int]) -> Place:
        places = list(self._places(*item))
        if places:
            earliest = min(places)
            return Place(earliest.offset, all(place == earliest and place.is_exact for place in places))
        # Nothing of the partition has been mirrored, as far as is known: so the first record is still to come.
        is_empty = target.first == target.end
        return Place(target.end if is_empty else target.first, is_empty and item[1] <= firsts[item[0]])

    def _places(self, where: TopicPartition, offset: int) -> Iterator[Place]:
        if where.topic in self._names and self._forth:
            place = self._forth.offset_map.to_target(where, offset)
            if place is not None:
                yield place
        if where.topic in self._home_names and self._back:
            home = TopicPartition(self._home_names[where.topic], where.partition)
            place = self._back.offset_map.to_source(home, offset)
            if place is not None:
                yield place


def read_bounds(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
    """Where partitions begin and end."""
    firsts, ends = admin.earliest_offsets(partitions), admin.end_offsets(partitions)
    return {where: Bounds(firsts[where], ends[where]) for where in partitions}


def _within(target: TopicPartition, place: Place, bounds: Bounds) -> Translation:
    """A place that the target no longer has becomes its first one: consumers do not reset themselves then."""
    offset = max(bounds.first, min(place.offset, bounds.end))
    return Translation(target, offset, place.is_exact and place.offset <= bounds.end)


def _reader(flow: FlowConfig, runs_per_partition: int) -> LedgerReader:
    offsets_topic = str(flow.get("offset.storage.topic"))
    target = access_for(flow.target, "consumer")
    return LedgerReader(target, flow.source.alias, ledger_topic(flow), offsets_topic, runs_per_partition)
