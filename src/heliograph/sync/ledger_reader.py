"""Keeps an offset map in step with the ledger and the positions on a flow's target."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner
from heliograph.ledger.offset_map import OffsetMap
from heliograph.model import LedgerEntry, Position, TopicPartition

_NO_TOPIC = 3  # unknown topic or partition


class LedgerReader:
    """Reads what a flow has written down: all of it the first time, and what is new each time after."""

    def __init__(
        self,
        target: Access,
        source_alias: str,
        ledger_topic: str,
        offsets_topic: str,
        begin_at: int = 0,
    ) -> None:
        """`begin_at` is an offset of the ledger: of what was written before it, only positions are known."""
        self.offset_map = OffsetMap()
        self._target = target
        self._source_alias = source_alias
        self._ledger_topic = ledger_topic
        self._offsets_topic = offsets_topic
        self._ledger_read_to = -1
        self._begin_at = begin_at
        self._offsets_read_to: dict[int, int] = {}
        self._positions: dict[TopicPartition, Position] = {}

    def read(self, topic_ids: Mapping[str, UUID]) -> bool:
        """Read on to the end; the ids of the source's topics tell which positions are of topics that are gone.

        False if the flow has never run.
        """
        with opened(self._target) as (loop, network):
            if _NO_TOPIC in network.look_up([self._ledger_topic, self._offsets_topic]).values():
                return False
            network.refresh([self._ledger_topic, self._offsets_topic])
            self._read_positions(loop, network)  # first, so that they are never ahead of the ledger
            self._read_ledger(loop, network)
        for source, position in self._positions.items():
            current = topic_ids.get(source.topic)
            is_current = current is None or not position.topic_id or UUID(position.topic_id) == current
            self.offset_map.set_position(source, position, is_current)
        return True

    def _read_positions(self, loop: Loop, network: Network) -> None:
        topic = self._offsets_topic
        if not self._offsets_read_to:
            self._offsets_read_to = reading.list_offsets(
                network, topic, dict.fromkeys(network.partitions(topic), EARLIEST)
            )
        for partition, record in reading.read_to_end(loop, network, topic, dict(self._offsets_read_to)):
            positions.apply(self._positions, self._source_alias, record.key, record.value)
            self._offsets_read_to[partition] = record.offset + 1

    def _read_ledger(self, loop: Loop, network: Network) -> None:
        start = self._ledger_start(network)
        for _, record in reading.read_to_end(loop, network, self._ledger_topic, {0: start}):
            told = entries.decode(record.value)
            if isinstance(told, Owner):
                self.offset_map.owner_changed()
            elif isinstance(told, LedgerEntry):
                self.offset_map.add(told)
            self._ledger_read_to = record.offset + 1

    def _ledger_start(self, network: Network) -> int:
        """Where we stopped; should the ledger no longer have that, its beginning, and then something is missing."""
        first = reading.list_offsets(network, self._ledger_topic, {0: EARLIEST})[0]
        end = reading.list_offsets(network, self._ledger_topic, {0: LATEST})[0]
        if first <= self._ledger_read_to <= end:
            return self._ledger_read_to
        self.offset_map.owner_changed()
        return max(first, min(self._begin_at, end))
