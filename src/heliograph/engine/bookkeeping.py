"""The driver's view of what is written down on the target: who owns the flow, and how far each partition is."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import AbstractContextManager

from heliograph.errors import Fenced, TakenOver
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.leftovers import check_reached, end_leftovers
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.transaction import take_all
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner
from heliograph.model import Position, TopicPartition

_FENCE_TIMEOUT_MS = 15_000


class Bookkeeping:
    """Positions and ledger of one flow."""

    def __init__(self, flow: str, source_alias: str, target: Access, offsets_topic: str, ledger_topic: str) -> None:
        self._flow = flow
        self._source_alias = source_alias
        self._target = target
        self._offsets_topic = offsets_topic
        self._ledger_topic = ledger_topic
        self.positions: dict[TopicPartition, Position] = {}
        self.offsets_read_to: dict[int, int] = {}
        self.ledger_read_to = 0

    def announce_owner(self, owner: str) -> None:
        """Write down that the flow is ours from now on: lanes of a former owner that start later see it and stop."""
        now = int(time.time() * 1000)
        record = entries.record(self._flow, now, entries.encode_owner(self._flow, owner, now))
        with self._network() as (loop, network):
            self.ledger_read_to = writing.append(loop, network, TopicPartition(self._ledger_topic, 0), [record])

    def announce_deal(self, owner: str, deal: int) -> None:
        """Write down that lanes of earlier deals must end: their partitions are dealt to others."""
        now = int(time.time() * 1000)
        record = entries.record(self._flow, now, entries.encode_deal(self._flow, owner, deal, now))
        with self._network() as (loop, network):
            writing.append(loop, network, TopicPartition(self._ledger_topic, 0), [record])

    def fence(
        self, transactional_ids: Collection[str], targets: Collection[TopicPartition]
    ) -> dict[TopicPartition, str]:
        """End the open transactions of all these ids everywhere, and lock out whoever still writes under them.

        Returns the targets where that could not be done, and why; without the books themselves nothing can go on.
        """
        with self._network() as (_, network):
            producers = take_all(network, sorted(transactional_ids), _FENCE_TIMEOUT_MS)
            network.look_up({where.topic for where in targets})
            books = {TopicPartition(self._offsets_topic, number) for number in network.partitions(self._offsets_topic)}
            books.add(TopicPartition(self._ledger_topic, 0))
            left = end_leftovers(network, producers, {*targets, *books}).unreachable
            check_reached(network, left, books)
            return left

    def refresh(self, owner: str) -> None:
        """Read what was written since the last time; raises if the flow has another owner by now."""
        with self._network() as (loop, network):
            self._follow_ledger(loop, network, owner)
            if not self.offsets_read_to:
                partitions = network.partitions(self._offsets_topic)
                wanted = dict.fromkeys(partitions, EARLIEST)
                self.offsets_read_to = reading.list_offsets(network, self._offsets_topic, wanted)
            wanted = dict.fromkeys(self.offsets_read_to, LATEST)
            ends = reading.list_offsets(network, self._offsets_topic, wanted)
            for _, record in reading.read_to_end(loop, network, self._offsets_topic, self.offsets_read_to):
                positions.apply(self.positions, self._source_alias, record.key, record.value)
            self.offsets_read_to = ends

    def _follow_ledger(self, loop: Loop, network: Network, owner: str) -> None:
        end = reading.list_offsets(network, self._ledger_topic, {0: LATEST})[0]
        for _, record in reading.read_to_end(loop, network, self._ledger_topic, {0: self.ledger_read_to}):
            told = entries.decode(record.value)
            if not isinstance(told, Owner) or told.name == owner:
                continue
            if told.is_operation:
                raise Fenced(f"flow {self._flow} was closed: {told.name}")
            raise TakenOver(f"flow {self._flow} now belongs to {told.name}; this mirror ({owner}) stops")
        self.ledger_read_to = end

    def _network(self) -> AbstractContextManager[tuple[Loop, Network]]:
        return opened(self._target, [self._offsets_topic, self._ledger_topic])
