"""What was told to a running flow and must survive a restart: states of connectors, changed settings.

It is kept where Kafka Connect keeps such things, in `mm2-configs.A.internal` on the target. States are written in
Connect's own way. Settings are not: Connect writes down all settings of a connector, and MirrorMaker 2 overwrites them
at each start with what its file says; ours are only what differs from the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.config.overrides import Changes
from heliograph.control.connector import Connector, RunState
from heliograph.errors import MalformedRecord, refuse_newer
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.records import Record
from heliograph.sync.compacted_topic import CompactedTopic

_STATE = "target-state-"
_CHANGES = "heliograph-changes"
_OPERATION = "heliograph-operation"
FORMAT = 1  # of our own records; before there were formats they had none


@dataclass(frozen=True)
class StoredState:
    """All that is known of one flow."""

    states: Mapping[Connector, RunState] = field(default_factory=dict)
    changes: Changes = field(default_factory=dict)
    operation: Mapping[str, Any] = field(default_factory=dict)  # the last one, and what it must remember


@dataclass(frozen=True)
class _Item:
    """One record of the topic."""

    key: str
    value: Mapping[str, object]

    def encode_key(self) -> bytes:
        """The record's key."""
        return self.key.encode()

    def encode_value(self) -> bytes:
        """The record's value."""
        return json.dumps(self.value, separators=(",", ":")).encode()


class StateStore:
    """The topic of one flow; opened for each use, since it is used rarely."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._name = str(flow.get("config.storage.topic"))

    def read(self) -> StoredState:
        """What was written last; nothing where there is no such topic."""
        with Admin(access_for(self._flow.target, "admin")) as admin:
            if not admin.topics([self._name]):
                return StoredState()
        states: dict[Connector, RunState] = {}
        changes: Changes = {}
        operation: Mapping[str, Any] = {}
        with self._topic() as topic:
            for record in topic.read():
                key, value = (record.key or b"").decode(errors="replace"), record.value
                if key == _CHANGES:
                    changes = _decode_changes(self._fields(record))
                elif key == _OPERATION:
                    operation = self._operation(record)
                elif (connector := _connector(key)) is not None:
                    states[connector] = _decode_state(value)
        return StoredState(states, changes, operation)

    def write_state(self, connector: Connector, state: RunState) -> None:
        """Write down what a connector was told to do."""
        old_name = "RUNNING" if state is RunState.RUNNING else "PAUSED"  # all that Connect knew before version 3.5
        self._write(_Item(_STATE + connector.value, {"state": old_name, "state.v2": state.value}))

    def write_changes(self, changes: Changes, by: str) -> None:
        """Write down all settings that differ from the file."""
        self._write(_Item(_CHANGES, {"format": FORMAT, "properties": dict(changes), "by": by}))

    def write_operation(self, fields: Mapping[str, Any]) -> None:
        """Write down how far an operation is, and what it must remember."""
        self._write(_Item(_OPERATION, {**fields, "format": FORMAT}))

    def _fields(self, record: Record) -> Mapping[str, Any] | None:
        """What a record of ours says; None if it is damaged."""
        try:
            fields = json.loads(record.value or b"{}")
        except ValueError:
            return None
        if not isinstance(fields, dict):
            return None
        refuse_newer(self._place(record), fields.pop("format", 0), FORMAT)
        return fields

    def _operation(self, record: Record) -> Mapping[str, Any]:
        """Without knowing what an operation has done nobody may go on with it."""
        fields = self._fields(record)
        if fields is None:
            raise MalformedRecord(f"{self._place(record)}: what the last operation did cannot be read")
        return fields

    def _place(self, record: Record) -> str:
        return f"{self._flow.target.alias} {self._name}, offset {record.offset}"

    def _write(self, item: _Item) -> None:
        with self._topic() as topic:
            topic.append([item])

    def _topic(self) -> CompactedTopic:
        return CompactedTopic(self._flow, self._flow.target, self._name, "config.storage.replication.factor")


def _connector(key: str) -> Connector | None:
    name = key.removeprefix(_STATE)
    return next((item for item in Connector if key != name and item.value == name), None)


def _decode_state(value: bytes | None) -> RunState:
    try:
        fields = json.loads(value or b"{}")
        return RunState(fields.get("state.v2", fields.get("state", RunState.RUNNING.value)))
    except (ValueError, AttributeError):
        return RunState.RUNNING


def _decode_changes(fields: Mapping[str, Any] | None) -> Changes:
    try:
        properties = (fields or {}).get("properties", {})
        return {str(name): None if text is None else str(text) for name, text in properties.items()}
    except AttributeError:
        return {}
