"""Waiting for something that will soon be there: short pauses first, longer ones later, an end to it."""

from __future__ import annotations

import time

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.1


class Patience:
    """A budget of time for one question that is asked again and again."""

    def __init__(self, seconds: float = 30.0) -> None:
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE

    def wait(self) -> bool:
        """Pause; false, at once, when the time is used up."""
        if time.monotonic() >= self._deadline:
            return False
        time.sleep(self._pause)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        return True
