"""How many tasks a cluster can run at once, as executors come and go."""

from __future__ import annotations

import time
from collections.abc import Callable

_FIRST_SECONDS = 2.0
_FEWER_SECONDS = 3.0  # lanes without a slot do not copy, and a new executor takes longer than this
_MORE_SECONDS = 8.0  # all lanes copy: time to let all new executors come, for every change interrupts flows


class SteadySlots:
    """Believes a number that has been the same for a while."""

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
        patience = _FIRST_SECONDS if not self.believed else _FEWER_SECONDS if seen < self.believed else _MORE_SECONDS
        is_steady = seen == self._enough or now - self._since >= patience
        if seen in (0, self.believed) or not is_steady:  # with none at all there is nothing to deal
            return False
        self.believed = seen
        return True
