"""The target's side of a lane before it writes: take the transactional id, check whose the flow is, read positions."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from heliograph.engine.settings import LaneSettings
from heliograph.errors import TakenOver
from heliograph.kafka import ledger, positions, reading, writing
from heliograph.kafka.leftovers import end_leftovers
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import IdempotentProducer, Producer, TransactionalProducer
from heliograph.model import LanePlan, LedgerEntry, Position, TopicPartition


class LaneBooks:
    """Positions and ledger of a lane's flow. Making it ends what earlier attempts left open, and locks them out."""

    def __init__(self, target: Network, plan: LanePlan, settings: LaneSettings, source_alias: str) -> None:
        self._network = target
        self._plan = plan
        self._source_alias = source_alias
        target.refresh({item.target.topic for item in plan.assignments} | {plan.offsets_topic, plan.ledger_topic})
        self.producer = self._take_id(settings)
        self._end_leftovers()

    def _take_id(self, settings: LaneSettings) -> Producer:
        if not settings.is_exactly_once:
            return IdempotentProducer(self._network)
        return TransactionalProducer(self._network, self._plan.transactional_ids[0], settings.transaction_timeout_ms)

    def _end_leftovers(self) -> None:
        plan = self._plan
        if isinstance(self.producer, TransactionalProducer):
            books = {TopicPartition(plan.offsets_topic, number) for number in plan.offsets_read_to}
            written = {item.target for item in plan.assignments} | books | {TopicPartition(plan.ledger_topic, 0)}
            end_leftovers(self._network, [self.producer], written)

    def check_owner(self) -> None:
        """Raise if the flow belongs to another mirror than the one that planned this lane."""
        plan = self._plan
        owner = plan.owner
        starts = {0: plan.ledger_read_to}
        for _, record in reading.read_to_end(self._network.loop, self._network, plan.ledger_topic, starts):
            owner = ledger.decode_owner(record.value or b"{}") or owner
        if owner != plan.owner:
            raise TakenOver(f"flow {plan.flow} now belongs to {owner}; this mirror ({plan.owner}) stops")

    def positions(self) -> dict[TopicPartition, Position]:
        """How far the partitions of the lane are, by what is committed now."""
        plan = self._plan
        current = dict(plan.positions)
        starts = plan.offsets_read_to
        for _, record in reading.read_to_end(self._network.loop, self._network, plan.offsets_topic, starts):
            positions.apply(current, self._source_alias, record.key, record.value)
        return current

    def announce(self) -> None:
        """Name our producer id in the ledger before anything is written under it."""
        plan, producer_id = self._plan, self.producer.stamp.producer_id
        if producer_id not in plan.announced:
            now = int(time.time() * 1000)
            value = ledger.encode_producer(plan.flow, plan.owner, producer_id, now)
            where = TopicPartition(plan.ledger_topic, 0)
            writing.append(self._network.loop, self._network, where, [ledger.record(plan.flow, now, value)])

    def records_of(
        self, entry: LedgerEntry, reached: Mapping[TopicPartition, Position]
    ) -> dict[TopicPartition, Sequence[Record]]:
        """What a transaction writes down: its ledger entry, and how far each partition is."""
        plan, now = self._plan, entry.written_at_ms
        contents: dict[TopicPartition, list[Record]] = {
            TopicPartition(plan.ledger_topic, 0): [ledger.record(plan.flow, now, ledger.encode_entry(entry))]
        }
        for source, position in reached.items():
            key = positions.encode_key(self._source_alias, source)
            number = positions.partition_for(key, len(plan.offsets_read_to))
            record = Record(0, now, key, positions.encode_value(position))
            contents.setdefault(TopicPartition(plan.offsets_topic, number), []).append(record)
        return dict(contents)
