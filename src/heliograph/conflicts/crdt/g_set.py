"""A set that only grows."""

from __future__ import annotations

from typing import Any

from heliograph.conflicts.crdt.canonical import canonical
from heliograph.conflicts.crdt.merge_type import MergeType, State


class GSet(MergeType):
    """All elements that were ever in it; kept in the order of their JSON texts."""

    NAME = "g-set"
    SHAPE = "[element, …]"

    def read(self, field: str, value: Any) -> State:
        """Each element once."""
        if not isinstance(value, list):
            self.refuse(field)
        return distinct(value)

    def merge(self, left: State, right: State) -> State:
        """All elements of both."""
        return distinct([*left, *right])


def distinct(elements: list[Any]) -> list[Any]:
    """Each element once, in the order of their texts; 1, 1.0 and true are different."""
    by_text = {canonical(element): element for element in elements}
    return [by_text[text] for text in sorted(by_text)]
