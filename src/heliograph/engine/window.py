"""How much may be on its way to a broker at a time."""

from __future__ import annotations

_FIRST_BYTES = 256 * 1024
_LEAST_BYTES = 32 * 1024
_LONGEST_SECONDS = 1.0  # that the end of a transaction may wait behind data, a fraction of what it has


class Window:
    """The bytes that may be unanswered: at most what the link takes within a second, as far as answers tell."""

    def __init__(self, lanes: int = 1) -> None:
        """`lanes` begin at the same time, and share the link."""
        self.size = max(_LEAST_BYTES, _FIRST_BYTES // lanes)

    def answered(self, size: int, outstanding: int, seconds: float, most: int) -> None:
        """A request was answered; with it so many bytes were unanswered when it left, `most` is worth trying."""
        if seconds > _LONGEST_SECONDS:
            # As many bytes as were before it have taken so long: that is what the link takes.
            self.size = max(_LEAST_BYTES, int(outstanding / seconds * _LONGEST_SECONDS))
        elif seconds < _LONGEST_SECONDS / 2:
            self.size = min(most, self.size + size)

    def given_up(self, seconds: float) -> None:
        """What was on its way has not been answered within so many seconds, and never will be."""
        if seconds > _LONGEST_SECONDS:
            self.size = max(_LEAST_BYTES, self.size // 2)
