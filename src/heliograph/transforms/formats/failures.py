"""What did not work a moment ago: not tried again for every record."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from heliograph.errors import DataError, RetryLater

FORGET_SECONDS: Final = 30.0
_MOST_KEPT: Final = 10_000


class FailureBook:
    """Remembers for a while why something failed; what may work in a moment is not remembered."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, tuple[float, str, object]] = {}

    @contextmanager
    def attempt(self, key: Hashable, held: object = None) -> Iterator[None]:
        """Try something, unless it has just failed. `held` is an object whose id the key has: it must not go away."""
        known = self._kept.get(key)
        if known is not None and time.monotonic() - known[0] < FORGET_SECONDS:
            raise DataError(known[1])
        try:
            yield
        except RetryLater:
            raise
        except DataError as error:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (time.monotonic(), str(error), held)
            raise
