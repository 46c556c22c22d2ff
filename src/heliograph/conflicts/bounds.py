"""How far apart records still conflict, and how long a conflict may go on."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_WINDOW_MS = 5000
_WINDOWS_PER_SPAN = 20
_FEWEST_WINDOWS_PER_SPAN = 2  # with less, a cut could leave over as much as it takes away


@dataclass(frozen=True)
class Bounds:
    """The window of a conflict, and the span after which one that does not end is cut."""

    window_ms: int = DEFAULT_WINDOW_MS
    max_span_ms: int | None = None

    def __post_init__(self) -> None:
        if self.window_ms < 0:
            raise ValueError(f"the window must not be negative: {self.window_ms} ms")
        if self.span_ms < max(1, _FEWEST_WINDOWS_PER_SPAN * self.window_ms):
            raise ValueError(f"a conflict must be allowed to last two windows or more, not {self.span_ms} ms")

    @property
    def span_ms(self) -> int:
        """The longest time from the first record of a conflict to its last."""
        return max(1, _WINDOWS_PER_SPAN * self.window_ms) if self.max_span_ms is None else self.max_span_ms
