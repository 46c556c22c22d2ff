"""Keeps an offset map in step with the ledger and the positions on a flow's target."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from uuid import UUID

from heliograph.kafka import reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check, opened
from heliograph.kafka.newest_positions import PositionReader
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import entries, map_records
from heliograph.ledger.entries import Owner
from heliograph.ledger.map_records import Content, Reached
from heliograph.ledger.offset_map import OffsetMap
from heliograph.ledger.summaries import read_summaries
from heliograph.model import InternalTopics, LedgerEntry, Position, TopicPartition


class LedgerReader:
    """Reads what a flow has written down: its offset map and the ledger behind that, and what is new each time after.

    One for each flow of a process; `lock` is held while the map is read or used.
    """

    def __init__(self, target: Access, source_alias: str, topics: InternalTopics) -> None:
        self.offset_map = OffsetMap()
        self.lock = threading.RLock()
        self.reached: Reached | None = None  # what of the ledger the map knows
        self.unwritten: dict[bytes, bytes | None] = {}  # what has changed in the map and was not written down yet
        self.is_written = False  # whether a whole map is written down
        self.written_to = 0  # offset of the map's topic: what lies behind it is not from us
        self.ahead_keys: set[bytes] = set()  # of records that say that single source partitions are written further
        self._ahead: dict[TopicPartition, int] = {}  # offsets of the ledger which what was restored of them has
        self._target = target
        self._topics = topics
        self._positions = PositionReader(source_alias, topics.offsets)

    def read(self, topic_ids: Mapping[str, UUID] | None, wanted: Collection[TopicPartition] | None = None) -> bool:
        """Read on to the end; the ids of the source's topics tell which positions are of topics that are gone.

        `topic_ids`: None leaves that as it was told last. `wanted`: the partitions of the source that will be asked
        for, if not all. False if the flow has never run.
        """
        with self.lock, opened(self._target) as (loop, network):
            if UNKNOWN_TOPIC in network.look_up([self._topics.ledger, self._topics.offsets]).values():
                return False
            network.refresh([self._topics.ledger, self._topics.offsets])
            if not self._positions.read_to:
                self._positions.summaries = read_summaries(loop, network, self._topics.state)
            self._positions.follow(loop, network, wanted)  # first, so that they are never ahead of the ledger
            self.follow(loop, network)
            for source, position in self._positions.known.items():
                self.offset_map.set_position(source, position, self._is_current(source, position, topic_ids))
        return True

    def _is_current(self, source: TopicPartition, position: Position, topic_ids: Mapping[str, UUID] | None) -> bool:
        if topic_ids is None:
            return not self.offset_map.is_replaced(source)
        current = topic_ids.get(source.topic)
        return current is None or not position.topic_id or UUID(position.topic_id) == current

    def follow(self, loop: Loop, network: Network) -> None:
        """Take in what is new in the ledger, which the network knows."""
        if self.reached is None:
            self.reached = Reached(network.topic_id(self._topics.ledger), -1)
            self._restore(loop, network)
        while self._was_left_behind(network) and self._restore(loop, network):
            pass  # the ledger may be cut again while we read
        self._read_ledger(loop, network)

    def start_over(self) -> None:
        """Forget everything: others have written the map meanwhile."""
        self.offset_map = self.offset_map.restored(Content({}, {}, None, {}))
        self.reached, self.is_written, self.written_to = None, False, 0
        self.unwritten.clear()
        self.ahead_keys.clear()
        self._ahead = {}

    def _was_left_behind(self, network: Network) -> bool:
        """Whether somebody has cut the ledger behind what we know: then the map that is written down knows more."""
        assert self.reached is not None
        is_same = self.reached.ledger_id == network.topic_id(self._topics.ledger)
        return is_same and self.reached.offset < _first(network, self._topics.ledger)

    def _restore(self, loop: Loop, network: Network) -> bool:
        """Begin with what is written down of the map, if that is more than we know; whether it is."""
        assert self.reached is not None
        content, end = self._stored_map(loop, network)
        if content.reached is None:
            self.written_to = max(self.written_to, end)  # whoever has begun one says nothing with it yet
            return False
        is_of_this_ledger = content.reached.ledger_id == self.reached.ledger_id
        if self.reached.offset >= 0 and not (is_of_this_ledger and content.reached.offset > self.reached.offset):
            return False
        self.offset_map, self.reached = self.offset_map.restored(content), content.reached
        self.unwritten.clear()
        self.is_written, self.written_to = True, end
        self.ahead_keys = set(map(map_records.ahead_key, content.ahead))
        ledger_id = network.topic_id(self._topics.ledger)
        self._ahead = {where: told.offset for where, told in content.ahead.items() if told.ledger_id == ledger_id}
        return True

    def _stored_map(self, loop: Loop, network: Network) -> tuple[Content, int]:
        """All that is written down, and where in its topic that ends."""
        topic = self._topics.offset_map
        failure = network.look_up([topic]).get(topic, 0)
        if failure == UNKNOWN_TOPIC:
            return Content({}, {}, None, {}), 0
        check(f"{self._target.alias} topic {topic}", failure)
        newest: dict[bytes, bytes] = {}
        starts = {0: _first(network, topic)}
        # A keeper that died in the middle hides nothing that counts: who comes after it ends its transaction first.
        ends = reading.list_offsets(network, topic, {0: LATEST}, READ_COMMITTED)
        for batch in reading.read_batches(loop, network, topic, starts, ends):
            for record in records.decode(batch.magic, batch.data):
                if record.value is None:
                    newest.pop(record.key or b"", None)
                else:
                    newest[record.key or b""] = record.value
        return map_records.decode(newest), ends[0]

    def _read_ledger(self, loop: Loop, network: Network) -> None:
        assert self.reached is not None
        ledger_id, start = network.topic_id(self._topics.ledger), self._ledger_start(network)
        self.reached = reached = Reached(ledger_id, start, self.reached.owner)
        for _, record in reading.read_to_end(loop, network, self._topics.ledger, {0: start}):
            told = entries.read(self._topics.ledger, record)
            is_told_of = partial(self._is_ahead, record.offset)
            if isinstance(told, Owner):  # of version 0.1.0
                self.offset_map.owner_changed(is_told_of)
            elif isinstance(told, LedgerEntry):
                if reached.owner not in ("", told.owner):
                    self.offset_map.owner_changed(is_told_of)
                self.offset_map.add(_without(told, is_told_of) if self._ahead else told)
                reached = reached._replace(owner=told.owner)
            self.reached = reached = reached._replace(offset=record.offset + 1)

    def _is_ahead(self, offset: int, source: TopicPartition) -> bool:
        """Whether the map that was restored has an entry of the ledger already, as far as it is about a partition."""
        return offset < self._ahead.get(source, 0)

    def _ledger_start(self, network: Network) -> int:
        """Where we stopped; should the ledger no longer have that, its beginning, and then something is missing.

        So it is, too, if the ledger was created anew since.
        """
        assert self.reached is not None
        first = _first(network, self._topics.ledger)
        end = reading.list_offsets(network, self._topics.ledger, {0: LATEST})[0]
        if first <= self.reached.offset <= end and self.reached.ledger_id == network.topic_id(self._topics.ledger):
            return self.reached.offset
        self.offset_map.owner_changed()
        return first


def _without(entry: LedgerEntry, is_told_of: Callable[[TopicPartition], bool]) -> LedgerEntry:
    """What an entry says of other partitions."""
    partitions = tuple(progress for progress in entry.partitions if not is_told_of(progress.source))
    return replace(entry, partitions=partitions, events=tuple(x for x in entry.events if not is_told_of(x.source)))


def _first(network: Network, topic: str) -> int:
    return reading.list_offsets(network, topic, {0: EARLIEST})[0]


def read_newest(loop: Loop, network: Network, topic: str, count: int) -> list[LedgerEntry]:
    """About so many of the newest entries of a ledger or a journal; none where the topic is missing."""
    failure = network.look_up([topic]).get(topic, 0)
    if failure == UNKNOWN_TOPIC:
        return []
    check(f"{network.access.alias} topic {topic}", failure)
    end = reading.list_offsets(network, topic, {0: LATEST})[0]
    start = max(_first(network, topic), end - count)
    told = (entries.read(topic, record) for _, record in reading.read_to_end(loop, network, topic, {0: start}))
    return [entry for entry in told if isinstance(entry, LedgerEntry)]
