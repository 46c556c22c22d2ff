"""Writes into the flow's state which partitions are set aside, all of them at every change.

A partition may have been set aside weeks ago. Whoever wants to know how a flow stands finds it there all the same.
"""

from __future__ import annotations

import time

from heliograph.control.chores import Chore
from heliograph.engine.flow import FlowDriver
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, TopicPartition

NO_LANE = -1  # in an entry: the driver speaks, and only repeats what lanes have told

_INTERVAL = 5.0


class Standing:
    """What is set aside in one flow."""

    def __init__(self, flow: FlowDriver) -> None:
        self._flow = flow
        self._told: tuple[str, dict[TopicPartition, str]] = "", {}

    def chore(self) -> Chore:
        """The telling as periodic work."""
        return Chore("standing", _INTERVAL, self.tell)

    def tell(self) -> str:
        """Write it down, unless nothing has changed since the last time; what another owner told is void."""
        flow = self._flow
        aside = flow.totals.set_aside.copy()
        told = self._told[1] if self._told[0] == flow.owner else {}
        if aside == told:
            return ""
        entry = _entry(flow.name, flow.owner, aside)
        with Writer(flow.settings.target) as writer:
            writer.append(TopicPartition(flow.settings.topics.state, 0), [entries.standing_record(entry)])
        self._told = flow.owner, aside
        return f"{len(entry.events)} set aside"


def _entry(flow: str, owner: str, aside: dict[TopicPartition, str]) -> LedgerEntry:
    events = tuple(Event(EventKind.SET_ASIDE, source, -1, -1, reason) for source, reason in sorted(aside.items()))
    return LedgerEntry(flow, NO_LANE, owner, -1, int(time.time() * 1000), (), events)
