"""Steps that close a flow to every mirror, or open it again."""

from __future__ import annotations

import time

from heliograph.config.flow import FlowConfig
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.journal import Journal
from heliograph.recovery.steps.step import Outlook, Step, Tell

CLOSED_AT = "closed at"  # in the journal: milliseconds


class CloseFlow(Step):
    """Lets nobody copy any more."""

    name = "close"
    title = "Stop the flow and fence it"

    def __init__(self, flow: FlowConfig, journal: Journal, stays_closed: bool = False) -> None:
        """`stays_closed`: also when the operation fails."""
        self._flow = flow
        self._gate = FlowGate(flow)
        self._journal = journal
        self._stays_closed = stays_closed

    def outlook(self) -> Outlook:
        """Closed or not."""
        flow = self._flow.name
        return Outlook(f"{flow} is closed already" if self._gate.is_closed else f"{flow} would be stopped and fenced")

    def do(self, tell: Tell) -> str:
        """Done again it only fences once more."""
        tell(f"locking out every mirror of {self._flow.name}")
        if self._journal.recall(CLOSED_AT) is None:
            self._journal.remember(CLOSED_AT, int(time.time() * 1000))
        self._gate.close(self._journal.id)
        return f"no mirror can write for {self._flow.name} any more, also not one that comes back"

    def undo(self) -> str:
        """The flow goes on."""
        if self._stays_closed or self._journal.recall(CLOSED_AT) is None:
            return ""
        self._gate.open()
        self._journal.remember(CLOSED_AT, None)
        return f"{self._flow.name} goes on"


class OpenFlow(Step):
    """Lets mirrors copy again."""

    name = "open"
    title = "Let the flow go on"

    def __init__(self, flow: FlowConfig, journal: Journal) -> None:
        self._flow = flow
        self._gate = FlowGate(flow)
        self._journal = journal

    def outlook(self) -> Outlook:
        """Open or not."""
        flow = self._flow.name
        return Outlook(f"{flow} would go on" if self._gate.is_closed else f"{flow} is open already")

    def do(self, tell: Tell) -> str:
        """Whoever runs the flow follows within seconds."""
        self._gate.open()
        self._journal.remember(CLOSED_AT, None)
        return f"{self._flow.name} is open: its mirror goes on within seconds"
