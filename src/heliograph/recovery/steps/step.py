"""One step of an operation: what it would do, doing it, and putting it back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Outlook:
    """What a step would do now, and what stands in its way."""

    text: str
    problems: tuple[str, ...] = ()


class Step(ABC):
    """Every step can be done again: whoever runs an operation a second time ends where the first would have."""

    name: ClassVar[str]  # in hooks and the journal
    title: ClassVar[str]

    @abstractmethod
    def outlook(self) -> Outlook:
        """Look at the clusters; changes nothing."""

    @abstractmethod
    def do(self, tell: Tell) -> str:
        """Do it, telling what goes on meanwhile; returns the proof that it is done. Raises HeliographError."""

    def undo(self) -> str:
        """Put back what was changed; says what, or nothing where there is nothing to put back."""
        return ""

    def facts(self) -> dict[str, str]:
        """What hooks after the step may want to know."""
        return {}

    def details(self) -> dict[str, Any]:
        """All that the step has found out, as plain values, for reports."""
        return {}

    def close(self) -> None:  # noqa: B027 - most steps keep nothing
        """End what the step keeps running; the operation is over."""
