"""Tells again in the ledger, now and then, which partitions are set aside.

A partition may have been set aside weeks ago. Whoever wants to know how a flow stands finds it near the ledger's end
all the same, and need not read the rest.
"""

from __future__ import annotations

import time

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, TopicPartition

NO_LANE = -1  # in a ledger entry: the driver speaks, and only repeats what lanes have told

_INTERVAL = 60.0


class Standing:
    """What is set aside in one flow, to be told again whenever the ledger has grown."""

    def __init__(self, flow: FlowDriver) -> None:
        self._flow = flow
        self._told_at = 0

    def chore(self) -> Chore:
        """The telling as periodic work."""
        return Chore("standing", _INTERVAL, self.tell)

    def tell(self) -> str:
        """Write it down, unless nothing has been committed since the last time."""
        transactions = self._flow.totals.transactions
        if transactions == self._told_at or not self._flow.totals.producer_ids:
            return ""
        entry = self._entry()
        record = entries.record(entry.flow, entry.written_at_ms, entries.encode_entry(entry))
        with Writer(self._flow.settings.target) as writer:
            writer.append(TopicPartition(self._flow.settings.ledger_topic, 0), [record])
        self._told_at = transactions
        return f"{len(entry.events)} set aside"

    def _entry(self) -> LedgerEntry:
        flow, totals = self._flow, self._flow.totals
        aside = sorted(totals.set_aside.copy().items())
        events = tuple(Event(EventKind.SET_ASIDE, source, -1, -1, reason) for source, reason in aside)
        # Readers take every id in the ledger for one that lanes write under, so it must be one of those.
        producer_id = max(totals.producer_ids.copy())
        return LedgerEntry(flow.name, NO_LANE, flow.owner, producer_id, int(time.time() * 1000), (), events)
