"""One value, of which the newest counts."""

from __future__ import annotations

from typing import Any

from heliograph.conflicts.crdt.canonical import canonical
from heliograph.conflicts.crdt.merge_type import MergeType, State

_MEMBERS = frozenset({"value", "timestamp", "origin"})


class LwwRegister(MergeType):
    """A value with the time when it was set; of equal times the alias that sorts last counts, then the value."""

    NAME = "lww-register"
    SHAPE = '{"value": any, "timestamp": ms, "origin": alias}'

    def read(self, field: str, value: Any) -> State:
        """The value and its time."""
        members = self.members(field, value, _MEMBERS)
        timestamp, origin = members.get("timestamp"), members.get("origin", "")
        if "value" not in members or type(timestamp) is not int or not isinstance(origin, str):
            self.refuse(field)
        return register(members["value"], timestamp, origin)

    def merge(self, left: State, right: State) -> State:
        """The newer one."""
        return max(left, right, key=_version)


def register(value: Any, timestamp_ms: int, origin: str) -> State:
    """The state of a value that was set then and there."""
    return {"value": value, "timestamp": timestamp_ms, "origin": origin}


def _version(state: State) -> tuple[int, str, bytes]:
    return state["timestamp"], state["origin"], canonical(state["value"])
