"""Which of very many things come most often, in bounded memory (the algorithm is known as Space-Saving)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True)
class Count(Generic[Item]):
    """How often a thing came: at least so often, and just so often if the count is exact."""

    item: Item
    count: int
    is_exact: bool = True


class TopCounts(Generic[Item]):
    """Counts things; when there are more of them than it has room for, the rarest give way.

    A thing that takes the place of another may have come before as often as that one, so its count has a lower and an
    upper bound.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._upper: dict[Item, int] = {}
        self._unsure: dict[Item, int] = {}  # by how much the upper bound may be too high
        self._by_count: dict[int, dict[Item, None]] = {}  # things of the same upper bound, the oldest first
        self._least = 0

    def add(self, item: Item) -> None:
        """Count a thing once more."""
        before = self._upper.get(item, 0)
        if not before and len(self._upper) == self._room:
            before = self._make_room()
            self._unsure[item] = before
        elif before:
            self._leave(item, before)
        self._upper[item] = before + 1
        self._by_count.setdefault(before + 1, {})[item] = None
        if before in (0, self._least) and before not in self._by_count:
            self._least = before + 1

    def least(self, item: Item) -> int:
        """How often it came at least."""
        return self._upper.get(item, 0) - self._unsure.get(item, 0)

    def is_sure(self, item: Item) -> bool:
        """Whether it came just so often."""
        return item not in self._unsure if item in self._upper else len(self._upper) < self._room

    def items(self) -> Iterable[Item]:
        """All that are known."""
        return self._upper.keys()

    def _make_room(self) -> int:
        item = next(iter(self._by_count[self._least]))
        upper = self._upper.pop(item)
        self._unsure.pop(item, None)
        self._leave(item, upper)
        return upper

    def _leave(self, item: Item, count: int) -> None:
        members = self._by_count[count]
        del members[item]
        if not members:
            del self._by_count[count]


def most(parts: Iterable[TopCounts[Item]], limit: int) -> list[Count[Item]]:
    """The things that came most often in all parts together."""
    all_parts = list(parts)
    totals: dict[Item, int] = {}
    for part in all_parts:
        for item in part.items():
            totals[item] = totals.get(item, 0) + part.least(item)
    first = sorted(totals.items(), key=lambda entry: -entry[1])[:limit]
    return [Count(item, count, all(part.is_sure(item) for part in all_parts)) for item, count in first]
