"""A number that goes up and down in several places."""

from __future__ import annotations

from typing import Any

from heliograph.conflicts.crdt.merge_type import MergeType, State

_MEMBERS = frozenset({"p", "n", "value"})


class Counter(MergeType):
    """A PN-counter: for each cluster what was added there in all, and what was taken away."""

    NAME = "counter"
    SHAPE = '{"p": {alias: added}, "n": {alias: taken away}}, numbers from 0 up; "value" is worked out'

    def read(self, field: str, value: Any) -> State:
        """Both sums, and the value that they make."""
        members = self.members(field, value, _MEMBERS)
        return _with_value(*(self._sums(field, members.get(name, {})) for name in ("p", "n")))

    def merge(self, left: State, right: State) -> State:
        """Of each cluster the larger sums, which are the later ones."""
        return _with_value(*(_larger(left[name], right[name]) for name in ("p", "n")))

    def _sums(self, field: str, sums: Any) -> dict[str, int]:
        if not isinstance(sums, dict) or any(type(count) is not int or count < 0 for count in sums.values()):
            self.refuse(field)
        return sums


def _larger(left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
    return {alias: max(left.get(alias, 0), right.get(alias, 0)) for alias in left | right}


def _with_value(added: dict[str, int], taken: dict[str, int]) -> State:
    return {"p": added, "n": taken, "value": sum(added.values()) - sum(taken.values())}
