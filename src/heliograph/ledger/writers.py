"""Who writes for a flow: the producer ids that its ledger names."""

from __future__ import annotations

from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.ledger import entries

_NO_PRODUCER = -1


class LedgerWriters:
    """Knows the producer ids of one flow, from its ledger."""

    def __init__(self, loop: Loop, network: Network, ledger_topic: str) -> None:
        self._loop = loop
        self._network = network
        self._ledger_topic = ledger_topic
        self._ids: set[int] = set()
        self._others: set[int] = {_NO_PRODUCER}
        self._read_to: int | None = None

    def wrote(self, producer_id: int) -> bool:
        """Whether a batch of this producer is the flow's."""
        if producer_id in self._ids:
            return True
        if producer_id in self._others:
            return False
        self._follow_ledger()
        if producer_id not in self._ids:
            self._others.add(producer_id)
        return producer_id in self._ids

    def _follow_ledger(self) -> None:
        """Reads also what is not committed: whoever writes to the ledger is one of the flow's lanes in any case.

        To wait for commits could be to wait for ever: that lane may be reading the ledger of ours meanwhile.
        """
        topic = self._ledger_topic
        if self._read_to is None:
            failure = self._network.look_up([topic]).get(topic, 0)
            if failure == UNKNOWN_TOPIC:
                return  # the flow has not begun; it may until the next unknown id is met
            check(f"{self._network.access.alias} topic {topic}", failure)
            self._read_to = reading.list_offsets(self._network, topic, {0: EARLIEST})[0]
        ends = reading.list_offsets(self._network, topic, {0: LATEST})
        starts = {0: self._read_to}
        for batch in reading.read_batches(self._loop, self._network, topic, starts, ends, isolation=READ_UNCOMMITTED):
            for record in records.decode(batch.magic, batch.data):
                producer_id = entries.producer_id_of(entries.decode(record.value))
                if producer_id is not None:
                    self._ids.add(producer_id)
        self._read_to = ends[0]
