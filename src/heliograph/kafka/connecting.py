"""A connection that is being made in a thread of its own, while whoever wants it serves other connections.

Names that nobody resolves, machines that do not answer, logins that take their time: all of it happens on a loop that
only the thread knows. When the connection is ready for use it moves to the loop of its owner.
"""

from __future__ import annotations

import threading

from heliograph.kafka.access import Access
from heliograph.kafka.connection import Connection, Loop


class Connecting:
    """One attempt to connect to a broker."""

    def __init__(self, address: tuple[str, int], access: Access) -> None:
        self.address = address
        self._access = access
        self._made: Connection | None = None
        self._failure: Exception | None = None
        self._lock = threading.Lock()
        self._is_given_up = False
        self._done = threading.Event()
        threading.Thread(target=self._connect, name=f"connect to {address[0]}", daemon=True).start()

    def _connect(self) -> None:
        try:
            self._keep(self._connected())
        except Exception as error:  # a thread has nobody to raise to but who waits for it
            self._failure = error
        finally:
            self._done.set()

    def _connected(self) -> Connection:
        loop = Loop()
        try:
            return Connection(loop, *self.address, self._access)
        except BaseException:
            loop.close()
            raise

    def _keep(self, made: Connection) -> None:
        with self._lock:
            self._made = made
            if self._is_given_up:
                made.close()

    def is_done(self, seconds: float = 0.0) -> bool:
        """Whether it has come to an end; waits for that so long."""
        return self._done.wait(seconds)

    def take(self, loop: Loop) -> Connection:
        """The connection, for this loop from now on; raises what has gone wrong."""
        if self._failure is not None:
            raise self._failure
        assert self._made is not None
        self._made.move_to(loop)
        return self._made

    def give_up(self) -> None:
        """Nobody wants it any more: it is closed, now or when it has been made."""
        with self._lock:
            self._is_given_up = True
            if self._made is not None:
                self._made.close()
