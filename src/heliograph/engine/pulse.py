"""What a lane tells its driver about once a second, from its own loop: a loop that hangs cannot tell anything."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, Protocol

# No step of a lane may block for longer: a transaction that is not ended in its time, 15 s unless the file says
# otherwise, is aborted in any case. A step that is known to take longer says so before.
SILENCE_SECONDS = 30.0
USERS_SECONDS = 600.0  # that code of the user's own may take with one batch of records
TRYING_AGAIN = "; trying again in "  # what follows in a trouble is another number each time
IDLE = "idle"
_INTERVAL = 1.0


class Awaiting(Protocol):
    """What says which answer is awaited."""

    awaited: str


def loop_doing(loop: Awaiting, else_doing: str) -> str:
    """What whoever runs a loop does: wait for an answer, or what is said."""
    return f"waiting for {loop.awaited}" if loop.awaited else else_doing


class Pulse(NamedTuple):
    """A lane lives, and does this; it may be silent for so many seconds from now on."""

    lane: int
    doing: str
    patience: float = SILENCE_SECONDS


class Heart:
    """Beats in one lane."""

    def __init__(self, lane: int, tell: Callable[[Pulse], None], patience: float = SILENCE_SECONDS) -> None:
        self._lane = lane
        self._tell = tell
        self._patience = max(patience, SILENCE_SECONDS)
        self._next = 0.0
        self._granted = 0.0  # the patience that was asked for last

    @classmethod
    def silent(cls) -> Heart:
        """Of a lane that nobody watches."""
        return cls(0, lambda _: None)

    def beat(self, doing: Callable[[], str]) -> None:
        """Tell what the lane does, if it is time; asks for it only then."""
        if time.monotonic() >= self._next:
            self._pulse(doing(), self._patience)

    def before(self, doing: str, seconds: float) -> None:
        """Tell what the lane does next, which may block it for so many seconds more than usual.

        At once if that is another time than was told last: what hangs after a long step must not profit from it.
        """
        patience = self._patience + seconds
        if patience != self._granted or time.monotonic() >= self._next:
            self._pulse(doing, patience)

    def _pulse(self, doing: str, patience: float) -> None:
        self._next = time.monotonic() + _INTERVAL
        self._granted = patience
        self._tell(Pulse(self._lane, doing, patience))
