"""The same check for several variants at once, as most of it is waiting; each variant has its own outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tests.conformance.route import Route

Check = Callable[[Route], None]


class AtOnce:
    """Begins a check for all its variants when the first of them is asked for."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        self._routes = routes
        self._pool = ThreadPoolExecutor()
        self._begun: dict[tuple[Check, str], Future[None]] = {}

    def expect(self, check: Check, variant: str, variants: Sequence[str]) -> None:
        """Wait for the outcome of one variant, and fail as it has failed."""
        for name in variants:
            if (check, name) not in self._begun:
                self._begun[check, name] = self._pool.submit(check, self._routes[name])
        self._begun[check, variant].result()

    def close(self) -> None:
        """Wait for what nobody has waited for."""
        self._pool.shutdown()
