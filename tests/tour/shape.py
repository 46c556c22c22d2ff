"""What an answer looks like, apart from what it says: keys and types, all the way down."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_FREE = "config"  # holds settings by their names: which there are depends on who was told what


@dataclass
class Shape:
    """Types that were seen at one place, and the shapes of what is inside."""

    types: set[str] = field(default_factory=set)
    keys: dict[str, Shape] = field(default_factory=dict)
    items: Shape | None = None  # of a list, or of a map whose keys are free; None while there were none

    def add(self, value: Any, is_free: bool = False) -> Shape:
        """Take in one more value of the same place."""
        if isinstance(value, dict):
            self.types.add("free map" if is_free else "map")
            for key, item in value.items():
                if is_free:
                    self.items = (self.items or Shape()).add(item)
                else:
                    self.keys.setdefault(key, Shape()).add(item, is_free=key == _FREE)
        elif isinstance(value, list):
            self.types.add("list")
            for item in value:
                self.items = (self.items or Shape()).add(item)
        else:
            self.types.add(type(value).__name__)
        return self

    def differences(self, other: Shape, where: str = "answer") -> list[str]:
        """What is not alike; lists without items are like all lists."""
        found = [] if self.types == other.types else [f"{where}: {sorted(self.types)} and {sorted(other.types)}"]
        found += [f"{where}.{key}: only on one side" for key in self.keys.keys() ^ other.keys.keys()]
        for key in self.keys.keys() & other.keys.keys():
            found += self.keys[key].differences(other.keys[key], f"{where}.{key}")
        if self.items is not None and other.items is not None:
            found += self.items.differences(other.items, f"{where}[]")
        return found
