"""Values by name, of which the newest counts for each name."""

from __future__ import annotations

from typing import Any

from heliograph.conflicts.crdt.canonical import canonical
from heliograph.conflicts.crdt.merge_type import MergeType, State

_MEMBERS = frozenset({"entries", "value"})
_ENTRY_MEMBERS = frozenset({"value", "timestamp", "origin", "removed"})


class LwwMap(MergeType):
    """Entries that are set and removed, each with its time; of equal times the alias that sorts last counts.

    Should even that be equal, a removal counts more than a value.
    """

    NAME = "lww-map"
    SHAPE = (
        '{"entries": {name: {"value": any, "timestamp": ms, "origin": alias}}}, '
        'or "removed": true in place of a value; "value" of the whole is worked out'
    )

    def read(self, field: str, value: Any) -> State:
        """The entries, those removed included."""
        entries = self.members(field, value, _MEMBERS).get("entries", {})
        if not isinstance(entries, dict):
            self.refuse(field)
        return _with_value({name: self._entry(field, entry) for name, entry in entries.items()})

    def merge(self, left: State, right: State) -> State:
        """For each name the newer entry."""
        entries = dict(left["entries"])
        for name, entry in right["entries"].items():
            entries[name] = max(entry, entries.get(name, entry), key=_version)
        return _with_value(entries)

    def _entry(self, field: str, entry: Any) -> State:
        members = self.members(field, entry, _ENTRY_MEMBERS)
        timestamp, origin, removed = members.get("timestamp"), members.get("origin", ""), members.get("removed", False)
        if type(timestamp) is not int or not isinstance(origin, str) or not isinstance(removed, bool):
            self.refuse(field)
        if removed == ("value" in members):
            self.refuse(field)
        content = {"removed": True} if removed else {"value": members["value"]}
        return {**content, "timestamp": timestamp, "origin": origin}


def _version(entry: State) -> tuple[int, str, bool, bytes]:
    return entry["timestamp"], entry["origin"], "removed" in entry, canonical(entry.get("value"))


def _with_value(entries: dict[str, State]) -> State:
    value = {name: entry["value"] for name, entry in entries.items() if "removed" not in entry}
    return {"entries": entries, "value": value}
