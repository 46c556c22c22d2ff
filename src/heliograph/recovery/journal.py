"""What operations have done: line by line in the journal, and how far the last one is beside the flow's settings.

Both lie on the flow's target, which is the cluster that an operator still has when the source is gone.
"""

from __future__ import annotations

import getpass
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.control.stored_state import StateStore
from heliograph.kafka.access import access_for
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import OperationNote, TopicPartition
from heliograph.sync.topics import flow_topics

_UNDER_WAY, _DONE, _FAILED = "under way", "done", "failed"


def operation_id(operation: str, began_at_ms: int) -> str:
    """What an operation is known by: its kind, and when it began."""
    moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(began_at_ms / 1000))
    return f"{operation}-{moment}.{began_at_ms % 1000:03}Z"


class Journal(Closeable):
    """The journal of one flow, for one operation."""

    def __init__(self, flow: FlowConfig, operation: str) -> None:
        self.operation = operation
        self.id = ""
        self._flow = flow
        self._by = _who()
        self._store = StateStore(flow)
        self._fields: dict[str, Any] = dict(self._store.read().operation)
        self._where = TopicPartition(flow_topics(flow).journal, 0)
        self._writer = Writer(access_for(flow.target, "producer"))
        self.listeners: list[Callable[[OperationNote], None]] = []

    @property
    def is_unfinished(self) -> bool:
        """Whether the same operation was begun and neither finished nor given up."""
        return self._fields.get("operation") == self.operation and self._fields.get("state") == _UNDER_WAY

    @property
    def began_at_ms(self) -> int:
        """When the operation began, be it in another process."""
        return int(self._fields["began"])

    def begin(self) -> None:
        """Go on with an unfinished operation of the same kind, or begin a new one; what is remembered stays."""
        now = _now_ms()
        if not self.is_unfinished:
            identity = operation_id(self.operation, now)
            remembered = self._fields.get("remembered", {})
            self._fields = {"operation": self.operation, "id": identity, "began": now, "remembered": remembered}
        self.id = str(self._fields["id"])
        self._save(_UNDER_WAY)
        self.note("", "began", "")

    def finish(self, is_done: bool, text: str) -> None:
        """The operation is over."""
        self._save(_DONE if is_done else _FAILED)
        self.note("", _DONE if is_done else _FAILED, text)

    def note(self, step: str, state: str, text: str) -> None:
        """Write a line."""
        note = OperationNote(self.operation, self.id, step, state, text, self._by, _now_ms())
        record = entries.record(self._flow.name, note.at_ms, entries.encode_note(self._flow.name, note))
        self._writer.append(self._where, [record])
        for listener in self.listeners:
            listener(note)

    def remember(self, name: str, value: Any) -> None:
        """Keep something that a later run must know, before it is done; None forgets it."""
        remembered = {**self._fields.get("remembered", {}), name: value}
        self._fields["remembered"] = {key: item for key, item in remembered.items() if item is not None}
        self._save(str(self._fields.get("state", _UNDER_WAY)))

    def recall(self, name: str) -> Any:
        """What was remembered, by this operation or an earlier one; None if nothing."""
        return self._fields.get("remembered", {}).get(name)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def _save(self, state: str) -> None:
        self._fields["state"] = state
        self._store.write_operation(self._fields)


def _who() -> str:
    user = "somebody"
    with suppress(KeyError, OSError):  # a container may run as a user without a name
        user = getpass.getuser()
    return f"{user}@{socket.gethostname()}"


def _now_ms() -> int:
    return int(time.time() * 1000)
