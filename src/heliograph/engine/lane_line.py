"""A lane's end of the control line.

A thread of its own listens to the driver. It does nothing else, so it answers also while the lane hangs: it tells where
that is, and ends the process if the driver says so. All else is told by the lane itself.
"""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import NamedTuple

from heliograph.engine.wire import ControlAddress, call, hang_up
from heliograph.errors import DriverGone

LANE = "lane"
READER = "reader"  # in another process than the rest of its lane: is only watched
DONE, END, ASK, EXIT = "done", "end", "where do you hang", "end your process"
_DONE_SECONDS = 10.0
_STACK_SECONDS = 2.0
_GONE = "the driver of this lane has ended"


class Stack(NamedTuple):
    """Where a lane hangs, the innermost call last."""

    text: str


def end_process() -> None:
    """At once: nobody knows what else of this process would hang too. Spark starts the task again."""
    os._exit(1)


class LaneLine:
    """One lane's line; whoever makes it is the thread that does the lane's work."""

    def __init__(
        self,
        address: ControlAddress,
        flow: str,
        deal: int,
        role: str = LANE,
        on_exit: Callable[[], None] = end_process,
    ) -> None:
        self._worker = threading.get_ident()
        self._on_exit = on_exit
        self._is_over = threading.Event()
        self._is_noted = threading.Event()  # or nobody is left who could take note
        self._is_gone = threading.Event()
        self._sending = threading.Lock()
        self._connection = call(address)
        self._send((role, flow, (deal, os.getpid())))
        self._listener = threading.Thread(target=self._listen, name="lane-line", daemon=True)
        self._listener.start()

    def was_told_to_end(self) -> bool:
        """Whether the driver wants the epoch to end; without a driver there is nothing to copy for."""
        self._check()
        return self._is_over.is_set()

    def report(self, message: object) -> None:
        """Tell the driver about a committed transaction, what the lane does, or, with a text, about trouble.

        A driver that takes nothing for a minute counts as gone.
        """
        self._check()
        self._send(message)

    def say_done(self) -> None:
        """Tell the driver that this lane writes no more; returns when it knows, so that it need not be locked out."""
        self.report(DONE)
        self._is_noted.wait(_DONE_SECONDS)
        self._check()

    def close(self) -> None:
        """Hang up."""
        hang_up(self._connection)
        self._listener.join(_STACK_SECONDS)
        self._connection.close()

    def _check(self) -> None:
        if self._is_gone.is_set():
            raise DriverGone(_GONE)

    def _send(self, message: object) -> None:
        try:
            with self._sending:
                self._connection.send(message)
        except OSError as error:
            raise DriverGone(_GONE) from error

    def _listen(self) -> None:
        try:
            while True:
                self._hear(self._connection.recv())
        except (EOFError, OSError):
            self._is_gone.set()
            self._is_noted.set()

    def _hear(self, word: object) -> None:
        if word == END:
            self._is_over.set()
        elif word == DONE:
            self._is_noted.set()
        elif word == ASK:
            self._tell_stack()
        elif word == EXIT:
            self._on_exit()

    def _tell_stack(self) -> None:
        """Unless the lane hangs while it tells something itself: two messages must not be mixed up."""
        frame = sys._current_frames().get(self._worker)  # noqa: SLF001 - the only way to another thread's stack
        text = "".join(traceback.format_stack(frame)) if frame is not None else "its thread has ended"
        if self._sending.acquire(timeout=_STACK_SECONDS):
            try:
                self._connection.send(Stack(text))
            finally:
                self._sending.release()
