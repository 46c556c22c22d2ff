"""What every kind of data that can be merged has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NoReturn

from heliograph.errors import DataError

State = Any  # a JSON value, as `read` leaves it


class MergeType(ABC):
    """One kind of data. `merge` is commutative, associative and idempotent on what `read` gives."""

    NAME: str
    SHAPE: str  # what it looks like in JSON, for people

    @abstractmethod
    def read(self, field: str, value: Any) -> State:
        """The value of a field, checked and brought into one form; DataError names the field, never the value."""

    @abstractmethod
    def merge(self, left: State, right: State) -> State:
        """What both say together."""

    def refuse(self, field: str) -> NoReturn:
        """The field does not look as it must."""
        raise DataError(f"the field {field} is not a {self.NAME}: {self.SHAPE}")

    def members(self, field: str, value: Any, allowed: frozenset[str]) -> dict[str, Any]:
        """The members of a JSON object that may have these and no others."""
        if not isinstance(value, dict) or not value.keys() <= allowed:
            self.refuse(field)
        return value
