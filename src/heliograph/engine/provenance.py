"""Which batches on the source were put there by a mirror of the opposite direction, told by their producer ids.

Lanes write under producer ids that their ledger names, and announce an id there before the first batch under it. So
when a batch with an unknown id is met, reading the ledger to its end settles whose it is, once and for all.
"""

from __future__ import annotations

from heliograph.kafka import ledger, reading
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST

_NO_PRODUCER = -1


class Provenance:
    """Knows the producer ids of the flow in the opposite direction, from its ledger on our source."""

    def __init__(self, loop: Loop, source: Network, ledger_topic: str) -> None:
        self._loop = loop
        self._source = source
        self._ledger_topic = ledger_topic
        self._mirrors: set[int] = set()
        self._others: set[int] = {_NO_PRODUCER}
        self._exists = bool(ledger_topic) and not source.look_up([ledger_topic])
        self._read_to = reading.list_offsets(source, ledger_topic, {0: EARLIEST})[0] if self._exists else 0

    def is_mirrored(self, producer_id: int) -> bool:
        """Whether a batch of this producer came from the other side, and must not be sent back."""
        if not self._exists or producer_id in self._others:
            return False
        if producer_id not in self._mirrors:
            self._follow_ledger()
            if producer_id not in self._mirrors:
                self._others.add(producer_id)
        return producer_id in self._mirrors

    def _follow_ledger(self) -> None:
        for _, record in reading.read_to_end(self._loop, self._source, self._ledger_topic, {0: self._read_to}):
            self._read_to = record.offset + 1
            producer_id = ledger.decode_producer_id(record.value or b"{}")
            if producer_id is not None:
                self._mirrors.add(producer_id)
