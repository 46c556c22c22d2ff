"""Offsets of one cluster as offsets of another, over the flows between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NamedTuple
from weakref import WeakValueDictionary

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.topics import TopicInfo
from heliograph.ledger.offset_map import OffsetMap, Place
from heliograph.model import InternalTopics, TopicPartition
from heliograph.sync.ledger_reader import LedgerReader
from heliograph.sync.topics import flow_topics, mirrored_names

Offset = tuple[TopicPartition, int]
_LookUp = Callable[[int], "_Answer | None"]


class _Answer(NamedTuple):
    """What one ledger tells of an offset: the place of the first record from there on, and where those before end."""

    place: Place
    passed: int


class Translation(NamedTuple):
    """Where a consumer goes on that would read this offset next; exact if it neither misses nor repeats a record.

    `is_known` tells whether anything of the partition has been mirrored, as far as is written down.
    """

    target: TopicPartition
    offset: int
    is_exact: bool
    is_known: bool = True


@dataclass(frozen=True)
class Bounds:
    """The first offset that a partition has, and the one that its next record gets."""

    first: int
    end: int


class Translator:
    """Translates from the source of a flow to its target.

    What the target's own flow has brought to the source is translated back home, by the ledger of that flow. Where
    both flows keep the names, a topic mixes records of both clusters: the earlier of both answers is right.

    `settled` may name partitions of the target whose own records have all been mirrored to the source: there is none
    that a consumer could still miss.
    """

    def __init__(
        self,
        flow: FlowConfig | None,
        opposite: FlowConfig | None,
        ledgers: Ledgers | None = None,
        leaves_out: bool = False,
    ) -> None:
        """`ledgers`: those that others of this process read too.

        `leaves_out`: a partition that cannot be asked where it begins and ends is left out, and named in `left_out`;
        else it is an error.
        """
        ledgers = ledgers or Ledgers()
        self._leaves_out = leaves_out
        self.left_out: dict[TopicPartition, str] = {}  # of the target, since the last `read`: nothing is sure of them
        self._flow = flow if flow and flow.enabled else None
        self._opposite = opposite if opposite and opposite.enabled else None
        self._forth = ledgers.of(self._flow) if self._flow else None
        self._back = ledgers.of(self._opposite) if self._opposite else None
        self._names: dict[str, str] = {}
        self._home_names: dict[str, str] = {}
        self._target_topics: Mapping[str, TopicInfo] = {}
        self._has_run = False
        self.settled: Collection[TopicPartition] = ()

    def read(self, source: Admin, target: Admin, only: Collection[TopicPartition] | None = None) -> None:
        """Learn what there is now on both clusters and in the ledgers; there perhaps only of some source partitions."""
        self.left_out = {}
        source_topics, target_topics = source.topics(), target.topics()
        self._target_topics = target_topics
        if self._flow and self._forth:
            self._names = mirrored_names(self._flow, source_topics)
            self._forth.offset_map.only = only
            wanted = _partitions(source_topics, self._names)
            self._has_run |= self._forth.read({name: info.topic_id for name, info in source_topics.items()}, wanted)
        if self._opposite and self._back:
            mirrored = mirrored_names(self._opposite, target_topics)
            self._home_names = {remote: topic for topic, remote in mirrored.items() if remote in source_topics}
            self._back.offset_map.only = None if only is None else self._homes(only)
            wanted = _partitions(target_topics, mirrored)
            self._has_run |= self._back.read({name: info.topic_id for name, info in target_topics.items()}, wanted)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While the maps must not change; in the same order for all, so that nobody waits for ever."""
        readers = {flow.name: reader for flow, reader in self._readers()}
        with ExitStack() as stack:
            for name in sorted(readers):
                stack.enter_context(readers[name].lock)
            yield

    def _readers(self) -> Iterator[tuple[FlowConfig, LedgerReader]]:
        for flow, reader in ((self._flow, self._forth), (self._opposite, self._back)):
            if flow is not None and reader is not None:
                yield flow, reader

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
        wanted: dict[TopicPartition, set[int]] = {}
        for where, offset in offsets:
            wanted.setdefault(where, set()).add(offset)
        homes = {where: home for where in wanted if (home := self.target_of(where)) is not None and self.exists(home)}
        bounds = self._bounds(target, set(homes.values()))
        homes = {where: home for where, home in homes.items() if home in bounds}
        places = {where: _places(self._look_ups(where), wanted[where]) for where in homes}
        firsts = self._firsts(source, {where for where in homes if None in places[where].values()})
        return {
            (where, offset): _within(home, place, bounds[home], is_known=True)
            if place is not None
            else _untouched(home, bounds[home], is_at_first=offset <= firsts[where])
            for where, home in homes.items()
            for offset, place in places[where].items()
            if place is not None or where in firsts
        }

    def _bounds(self, target: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """Where partitions of the target begin and end."""
        if not self._leaves_out:
            return read_bounds(target, partitions)
        firsts = target.reachable_offsets(partitions, EARLIEST)
        ends = target.reachable_offsets(firsts.offsets, LATEST)
        self.left_out |= firsts.failures | ends.failures
        return {where: Bounds(firsts.offsets[where], end) for where, end in ends.offsets.items()}

    def _firsts(self, source: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Where partitions of the source begin; without one that cannot be asked, nothing of its home is sure."""
        if not self._leaves_out:
            return source.earliest_offsets(partitions)
        firsts = source.reachable_offsets(partitions, EARLIEST)
        for where, why in firsts.failures.items():
            if (home := self.target_of(where)) is not None:
                self.left_out[home] = f"its source {why}"
        return firsts.offsets

    def translate_elsewhere(self, offsets: Iterable[Offset], target: Admin) -> dict[Offset, list[Translation]]:
        """The places of offsets in all other topics that transforms sent records of their partitions to."""
        if self._forth is None:
            return {}
        ledger = self._forth.offset_map
        found = {
            (where, offset): {there: place for there, place in places.items() if self.exists(there)}
            for where, offset in offsets
            if where.topic in self._names and (places := ledger.to_targets_elsewhere(where, offset))
        }
        bounds = self._bounds(target, {there for places in found.values() for there in places})
        return {
            item: [
                _within(there, place, bounds[there], is_known=True)
                for there, place in places.items()
                if there in bounds
            ]
            for item, places in found.items()
        }

    def _look_ups(self, where: TopicPartition) -> list[_LookUp]:
        """All that can tell of a partition: the flow's own map, and that of what came from the target."""
        found: list[_LookUp] = []
        if where.topic in self._names and self._forth:
            found.append(partial(_forth, self._forth.offset_map, where))
        if where.topic in self._home_names and self._back:
            home = TopicPartition(self._home_names[where.topic], where.partition)
            found.append(partial(_back, self._back.offset_map, home, home in self.settled and bool(found)))
        return found


def _places(look_ups: Iterable[_LookUp], offsets: Iterable[int]) -> dict[int, Place | None]:
    """The place of each offset of a partition; None where nothing is known of it."""
    found: dict[int, Place | None] = {}
    for offset in offsets:
        answers = [answer for look_up in look_ups if (answer := look_up(offset)) is not None]
        found[offset] = _earliest(answers) if len(answers) > 1 else answers[0].place if answers else None
    return found


def _earliest(answers: Collection[_Answer]) -> Place:
    """Exact only if nothing that has been read lies behind it."""
    earliest = min(answer.place for answer in answers)
    is_exact = any(answer.place == Place(earliest.offset, True) for answer in answers)
    return Place(earliest.offset, is_exact and all(_is_clear(answer, earliest.offset) for answer in answers))


def _is_clear(answer: _Answer, offset: int) -> bool:
    """Whether all that one ledger knows to be read lies before an offset; where it is not sure, it may lie behind."""
    return answer.passed <= offset and (answer.place.is_exact or answer.place.offset > offset)


def _forth(ledger: OffsetMap, source: TopicPartition, offset: int) -> _Answer | None:
    place = ledger.to_target(source, offset)
    return None if place is None else _Answer(place, ledger.passed_on_target(source, offset))


def _back(ledger: OffsetMap, home: TopicPartition, is_settled: bool, offset: int) -> _Answer | None:
    place = ledger.to_source(home, offset)
    if place is None or (is_settled and ledger.is_past(home, offset)):
        return None
    return _Answer(place, ledger.passed_on_source(home, offset))


def read_bounds(admin: Admin, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
    """Where partitions begin and end."""
    firsts, ends = admin.earliest_offsets(partitions), admin.end_offsets(partitions)
    return {where: Bounds(firsts[where], ends[where]) for where in partitions}


def _within(target: TopicPartition, place: Place, bounds: Bounds, is_known: bool) -> Translation:
    """A place that the target no longer has becomes its first one: consumers do not reset themselves then."""
    offset = max(bounds.first, min(place.offset, bounds.end))
    return Translation(target, offset, place.is_exact and place.offset <= bounds.end, is_known)


def _untouched(target: TopicPartition, bounds: Bounds, is_at_first: bool) -> Translation:
    """Nothing of the partition has been mirrored, as far as is known: so the first record is still to come."""
    is_empty = bounds.first == bounds.end
    place = Place(bounds.end if is_empty else bounds.first, is_empty and is_at_first)
    return _within(target, place, bounds, is_known=False)


def _partitions(topics: Mapping[str, TopicInfo], names: Iterable[str]) -> set[TopicPartition]:
    return {TopicPartition(name, number) for name in names for number in range(topics[name].partitions)}


_FlowKey = tuple[str, tuple[str, ...], InternalTopics]
_of_mirrors: WeakValueDictionary[_FlowKey, LedgerReader] = WeakValueDictionary()


class Ledgers:
    """Who reads what flows have written down: one reader for each flow of a process.

    Those of a running mirror read all partitions, again and again; whatever else the process does asks them too.
    """

    def __init__(self, of_mirror: bool = False) -> None:
        self._readers: dict[str, LedgerReader] = {}
        self._of_mirror = of_mirror
        self._lock = Lock()

    def of(self, flow: FlowConfig) -> LedgerReader:
        """The reader of a flow."""
        with self._lock:
            if flow.name not in self._readers:
                self._readers[flow.name] = ledger_reader(flow)
                if self._of_mirror:
                    _of_mirrors[_key(flow)] = self._readers[flow.name]
            return self._readers[flow.name]


def offset_map_of(flow: FlowConfig, wanted: Collection[TopicPartition]) -> OffsetMap:
    """What is written down by now of some partitions of a flow's source.

    A mirror in this process has read most of it already, so its reader reads on, and gives a copy.
    """
    reader = _of_mirrors.get(_key(flow))
    if reader is None:
        reader = ledger_reader(flow)
        reader.offset_map.only = wanted
    with reader.lock:
        reader.read(None, wanted)
        return reader.offset_map.copy_of(wanted)


def _key(flow: FlowConfig) -> _FlowKey:
    return flow.name, tuple(access_for(flow.target, "consumer").bootstrap_servers), flow_topics(flow)


def ledger_reader(flow: FlowConfig) -> LedgerReader:
    """A reader of what the flow has written down."""
    return LedgerReader(access_for(flow.target, "consumer"), flow.source.alias, flow_topics(flow))
