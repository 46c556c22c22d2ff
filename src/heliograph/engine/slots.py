"""How many tasks a cluster can run at once, as executors come and go."""

from __future__ import annotations

import time
from collections.abc import Callable

_FIRST_SECONDS = 2.0
_STEADY_SECONDS = 8.0  # an executor that died is replaced in less: that is no reason to deal anew


class SteadySlots:
    """Believes a number that has been the same for a while: every change interrupts flows."""

    def __init__(self, count: Callable[[], int], enough: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._count = count
        self._enough = enough
        self._clock = clock
        self._seen, self._since = 0, clock()
        self.believed = 0  # until there is a first executor

    def changed(self) -> bool:
        """Look again; whether another number is believed now. More than enough is as good as enough."""
        now, seen = self._clock(), min(self._count(), self._enough)
        if seen != self._seen:
            self._seen, self._since = seen, now
        patience = _STEADY_SECONDS if self.believed else _FIRST_SECONDS
        is_steady = seen == self._enough or now - self._since >= patience
        if seen in (0, self.believed) or not is_steady:  # with none at all there is nothing to deal
            return False
        self.believed = seen
        return True
