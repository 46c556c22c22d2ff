"""Lanes that stand still, as if their process were frozen, and wake up when a test says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from heliograph.model import LedgerEntry

_PATIENCE_SECONDS = 60.0


@dataclass
class Frozen:
    """A lane in a thread of its own."""

    entries: list[LedgerEntry] = field(default_factory=list)
    failure: BaseException | None = None
    _is_frozen: threading.Event = field(default_factory=threading.Event)
    _may_go_on: threading.Event = field(default_factory=threading.Event)
    _ends: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def go_on(self) -> None:
        """Wake up."""
        self._may_go_on.set()

    def finish(self) -> None:
        """Wake up and end well, if the lane can."""
        assert self._thread is not None
        self.go_on()
        self._ends.set()
        self._thread.join(_PATIENCE_SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def frozen_lane(
    lane: Callable[[Callable[[], bool]], Iterable[LedgerEntry]], is_time: Callable[[], bool]
) -> Iterator[Frozen]:
    """A lane that freezes when it looks whether it should end, and it is time for that."""
    made = Frozen()

    def is_over() -> bool:
        if not made._is_frozen.is_set() and is_time():
            made._is_frozen.set()
            assert made._may_go_on.wait(_PATIENCE_SECONDS)
        return made._ends.is_set()

    def run() -> None:
        try:
            made.entries.extend(lane(is_over))
        except BaseException as error:
            made.failure = error
            made._is_frozen.set()

    made._thread = threading.Thread(target=run, daemon=True)
    made._thread.start()
    assert made._is_frozen.wait(_PATIENCE_SECONDS)
    try:
        yield made
    finally:
        made.finish()
