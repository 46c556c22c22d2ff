"""Closes a flow to every mirror, wherever it runs, and opens it again.

Closing is written down on the target in this order: that the flow is stopped, that it has another owner, and then the
lanes are locked out. A mirror that takes the flow over after that reads that it is stopped; one that did so before
finds itself locked out, and its lanes see the new owner when they begin again. So nothing can be copied by surprise,
by a source that comes back least of all. A flow without transactions cannot be locked out: there, closing waits until
its mirror has done as it was told.
"""

from __future__ import annotations

import time

from heliograph.config.flow import FlowConfig
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.connector import Connector, RunState
from heliograph.control.flow_settings import flow_settings
from heliograph.control.running_flow import ORDERS_SECONDS
from heliograph.control.stored_state import StateStore
from heliograph.engine.flow import FlowDriver
from heliograph.errors import StepFailed
from heliograph.ledger import entries
from heliograph.recovery.books import read_books

_LOOK_SECONDS = 0.5
_PATIENCE_SECONDS = 60.0
_PARTS = (Connector.SOURCE, Connector.CHECKPOINT)  # heartbeats go on: they show that the mirror is alive


class FlowGate:
    """The gate of one flow."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._store = StateStore(flow)

    @property
    def is_closed(self) -> bool:
        """Whether mirrors were told to stop."""
        states = self._store.read().states
        return all(states.get(part) is RunState.STOPPED for part in _PARTS)

    def close(self, by: str) -> None:
        """Nothing is copied from when this comes back."""
        for part in _PARTS:
            self._store.write_state(part, RunState.STOPPED)
        settings = flow_settings(self._flow)
        FlowDriver(settings, ClusterTopics(self._flow)).shut_out(entries.operation_owner(by))
        if not settings.lane.is_exactly_once:
            self._await_rest()

    def _await_rest(self) -> None:
        """Mirrors look every few seconds what they were told; one that copies moves its positions."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        known, since = read_books(self._flow).positions, time.monotonic()
        while time.monotonic() - since < 2 * ORDERS_SECONDS:
            if time.monotonic() > deadline:
                raise StepFailed(f"a mirror of {self._flow.name} goes on copying; end that process")
            time.sleep(_LOOK_SECONDS)
            found = read_books(self._flow).positions
            if found != known:
                known, since = found, time.monotonic()

    def open(self) -> None:
        """Whoever runs the flow goes on within seconds."""
        for part in _PARTS:
            self._store.write_state(part, RunState.RUNNING)
