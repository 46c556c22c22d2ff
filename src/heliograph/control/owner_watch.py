"""Notices that another mirror has taken over a flow, even while nothing flows and no lane would notice."""

from __future__ import annotations

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.errors import NewerFormat
from heliograph.kafka import reading, records
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import opened
from heliograph.kafka.reading import LATEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner, Told

_INTERVAL = 10.0


class OwnerWatch:
    """Reads on in the flow's state, and looks only for new owners."""

    def __init__(self, flow: FlowDriver) -> None:
        self._flow = flow
        self._read_to = -1

    def chore(self) -> Chore:
        """The watching as periodic work."""
        return Chore("owner", _INTERVAL, self.look)

    def look(self) -> str:
        """See whether somebody else has come; what an open transaction hides is seen the next time."""
        topic, start = self._flow.settings.topics.state, max(self._read_to, self._flow.owned_from)
        with opened(self._flow.settings.target, [topic]) as (loop, network):
            end = reading.list_offsets(network, topic, {0: LATEST}, READ_COMMITTED)[0]
            for batch in reading.read_batches(loop, network, topic, {0: start}, {0: end}):
                for record in records.decode(batch.magic, batch.data):
                    told = self._told(topic, record) if record.offset >= start else None
                    if isinstance(told, Owner) and told.name != self._flow.owner and not told.is_operation:
                        self._flow.was_taken_over = True
                        return f"the flow belongs to {told.name} now"
        self._read_to = max(start, end)
        return ""

    def _told(self, topic: str, record: Record) -> Told | None:
        try:
            return entries.read(topic, record)
        except NewerFormat as error:
            self._flow.too_new = str(error)
            raise
