"""Closes a flow to every mirror, wherever it runs, and opens it again.

Closing is written down on the target in this order: that the flow is stopped, that it has another owner, and then the
lanes are locked out. A mirror that takes the flow over after that reads that it is stopped; one that did so before
finds itself locked out, and its lanes see the new owner when they begin again. So nothing can be copied by surprise,
by a source that comes back least of all.
"""

from __future__ import annotations

from heliograph.config.flow import FlowConfig
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.connector import Connector, RunState
from heliograph.control.flow_settings import flow_settings
from heliograph.control.stored_state import StateStore
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import ledger

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
        driver = FlowDriver(flow_settings(self._flow), ClusterTopics(self._flow))
        driver.shut_out(ledger.operation_owner(by))

    def open(self) -> None:
        """Whoever runs the flow goes on within seconds."""
        for part in _PARTS:
            self._store.write_state(part, RunState.RUNNING)
