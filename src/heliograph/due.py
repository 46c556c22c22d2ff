"""Things that are done again and again, with a pause between."""

from __future__ import annotations

import time


class Due:
    """Tells when so many seconds have passed since it was made, or since it last told so."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = time.monotonic() + seconds

    def is_due(self) -> bool:
        """Whether it is time; if so, the next pause begins."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._seconds
        return True
