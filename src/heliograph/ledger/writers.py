"""Who writes for a flow: the producer ids that its lanes have announced."""

from __future__ import annotations

from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner, ProducerId
from heliograph.model import InternalTopics

_NO_PRODUCER = -1


class FlowWriters:
    """Knows the producer ids of one flow, from its state: a compacted topic, so none is ever forgotten."""

    def __init__(self, loop: Loop, network: Network, topics: InternalTopics) -> None:
        self._loop = loop
        self._network = network
        self._topics = topics
        self._ids: set[int] = set()
        self._others: set[int] = {_NO_PRODUCER}
        self._read_to: int | None = None
        self._was_owned = False

    def wrote(self, producer_id: int) -> bool:
        """Whether a batch of this producer is the flow's."""
        if producer_id in self._ids:
            return True
        if producer_id in self._others:
            return False
        self._follow()
        if producer_id not in self._ids:
            self._others.add(producer_id)
        return producer_id in self._ids

    def all(self) -> frozenset[int]:
        """All that are known now."""
        self._follow()
        return frozenset(self._ids)

    def _follow(self) -> None:
        if self._exists(self._topics.state):
            self._follow_state()
        if not self._was_owned and self._exists(self._topics.ledger):
            self._refuse_former_ledger()

    def _exists(self, topic: str) -> bool:
        """Only a topic that is unknown means that the flow has not begun; it may until the next unknown id is met."""
        failure = self._network.look_up([topic]).get(topic, 0)
        if failure == UNKNOWN_TOPIC:
            return False
        check(f"{self._network.access.alias} topic {topic}", failure)
        return True

    def _follow_state(self) -> None:
        """Whoever writes there does so outside of transactions, so there is nothing to wait for."""
        topic = self._topics.state
        if self._read_to is None:
            self._read_to = reading.list_offsets(self._network, topic, {0: EARLIEST})[0]
        ends = reading.list_offsets(self._network, topic, {0: LATEST})
        starts = {0: self._read_to}
        for batch in reading.read_batches(self._loop, self._network, topic, starts, ends, isolation=READ_UNCOMMITTED):
            for record in records.decode(batch.magic, batch.data):
                told = entries.read(topic, record)
                if isinstance(told, ProducerId):
                    self._ids.add(told.number)
                self._was_owned |= isinstance(told, Owner)
        self._read_to = ends[0]

    def _refuse_former_ledger(self) -> None:
        """Version 0.1.0 named the ids in the ledger; a take-over writes them down again first of all."""
        topic = self._topics.ledger
        if reading.list_offsets(self._network, topic, {0: LATEST})[0]:
            raise BrokerUnavailable(
                f"{self._network.access.alias}: the ledger {topic} was written by Heliograph 0.1.0, so it is not known "
                f"who writes for its flow; start that flow with this version first"
            )
