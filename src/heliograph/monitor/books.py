"""What a mirror has written down about its progress: positions, and MirrorMaker 2's offset syncs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heliograph.kafka import positions
from heliograph.kafka.connection import Loop
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.network import Network
from heliograph.kafka.newest_positions import newest_positions
from heliograph.model import Position, TopicPartition
from heliograph.monitor.tail import TopicTail

# A partition that is not among so many is quiet: its position has been written since.
_FIRST_SYNCS = 20_000


class PositionBook:
    """The positions of one source cluster; all are sought once, then only the new ones are read."""

    def __init__(self, topic: str, source_alias: str) -> None:
        self.topic = topic
        self._alias = source_alias
        self._tail = TopicTail(topic, 0)
        self._known: dict[TopicPartition, Position] = {}
        self._sought: set[TopicPartition] = set()

    def read(
        self, loop: Loop, network: Network, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Position]:
        """All that is known now."""
        for record in self._tail.read(loop, network):
            positions.apply(self._known, self._alias, record.key, record.value)
        unsought = set(wanted) - self._sought
        if unsought:
            self._known |= newest_positions(loop, network, self.topic, self._alias, unsought)
            self._sought |= unsought
        return self._known


class SyncBook:
    """The newest offset sync of each partition that has had one lately."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._tail = TopicTail(topic, _FIRST_SYNCS)
        self._known: dict[TopicPartition, OffsetSync] = {}

    def read(self, loop: Loop, network: Network) -> Mapping[TopicPartition, OffsetSync]:
        """All that is known now."""
        for record in self._tail.read(loop, network):
            if record.value is not None:
                sync = OffsetSync.decode(record.key, record.value)
                self._known[sync.source] = sync
        return self._known
