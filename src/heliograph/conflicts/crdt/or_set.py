"""A set whose elements can be taken out and put in again."""

from __future__ import annotations

from typing import Any

from heliograph.conflicts.crdt.canonical import canonical
from heliograph.conflicts.crdt.g_set import distinct
from heliograph.conflicts.crdt.merge_type import MergeType, State

_MEMBERS = frozenset({"adds", "removes", "value"})


class OrSet(MergeType):
    """An observed-remove set: whoever puts an element in gives it a new tag, whoever takes it out names the tags seen.

    So an element that is put in on one side and taken out on the other at the same time stays.
    """

    NAME = "or-set"
    SHAPE = '{"adds": {tag: element}, "removes": [tag, …]}; "value" is worked out'

    def read(self, field: str, value: Any) -> State:
        """The elements by their tags, without those taken out."""
        members = self.members(field, value, _MEMBERS)
        adds, removes = members.get("adds", {}), members.get("removes", [])
        if not isinstance(adds, dict) or not isinstance(removes, list):
            self.refuse(field)
        if not all(isinstance(tag, str) for tag in removes):
            self.refuse(field)
        return _with_value(adds, set(removes))

    def merge(self, left: State, right: State) -> State:
        """All tags of both, without those that either has taken out."""
        adds = dict(left["adds"])
        for tag, element in right["adds"].items():
            # A tag stands for one element; should someone have used it twice, all sides choose alike.
            adds[tag] = max(element, adds.get(tag, element), key=canonical)
        return _with_value(adds, {*left["removes"], *right["removes"]})


def _with_value(adds: dict[str, Any], removes: set[str]) -> State:
    left = {tag: element for tag, element in adds.items() if tag not in removes}
    return {"adds": left, "removes": sorted(removes), "value": distinct(list(left.values()))}
