"""How both ends of the control line connect and prove who they are; no end waits for the other without a limit.

A process can be frozen, or cut off from the network, with its connections still open. So whatever is sent must be taken
within a time, and whoever answers a question says that he is still at it.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from heliograph.errors import DriverGone

INTRODUCTION_SECONDS = 10.0  # for each step of it
TAKEN_WITHIN_SECONDS = 60.0  # what a lane tells its driver, who may be busy with what others have told
_DRIVER_SENDS_SECONDS = 5.0  # a few bytes, which always fit into a socket
_STILL_AT_IT = "still at it"
_TOLD_EVERY_SECONDS = 5.0
_PATIENCE_SECONDS = 30.0  # with a driver that does not even say that it is still at it
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 6, "TCP_USER_TIMEOUT": 60_000}
_GONE = "the driver of this lane has ended"


@dataclass(frozen=True)
class ControlAddress:
    """Where the driver listens, and the key that it asks for."""

    host: str
    port: int
    key: bytes = field(repr=False)


def call(address: ControlAddress) -> Connection:
    """A line to the driver."""
    try:
        with socket.create_connection((address.host, address.port), INTRODUCTION_SECONDS) as made:
            made.setblocking(True)
            connection: Connection = Connection(made.detach())
    except OSError as error:
        raise DriverGone(f"{_GONE}, or cannot be reached") from error
    try:
        _limit(connection, socket.SO_RCVTIMEO, INTRODUCTION_SECONDS)
        _limit(connection, socket.SO_SNDTIMEO, TAKEN_WITHIN_SECONDS)
        answer_challenge(connection, address.key)
        deliver_challenge(connection, address.key)
        listen_long(connection)
    except (OSError, EOFError, AuthenticationError) as error:
        connection.close()
        raise DriverGone(f"{_GONE}, or is not ours") from error
    return connection


def take_call(connection: Connection, key: bytes) -> bool:
    """Find out whether a caller knows the key, and let it know that we do; false: a stranger, or one that is gone.

    What it has called for it must say within the same time; see `listen_long`.
    """
    try:
        _limit(connection, socket.SO_RCVTIMEO, INTRODUCTION_SECONDS)
        _limit(connection, socket.SO_SNDTIMEO, _DRIVER_SENDS_SECONDS)
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
    except (OSError, EOFError, AuthenticationError):
        return False
    return True


def listen_long(connection: Connection) -> None:
    """Receive from now on however long the other side says nothing: it is known who watches over that."""
    _limit(connection, socket.SO_RCVTIMEO, 0)


def _limit(connection: Connection, option: int, seconds: float) -> None:
    """The system itself watches over it, so that neither end needs a thread or a loop for that; 0: no limit."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        whole = int(seconds)
        line.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", whole, int((seconds - whole) * 1_000_000)))
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # a machine that has vanished says nothing either
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                line.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def hang_up(connection: Connection) -> None:
    """End a connection that another thread is reading from: closing alone would wait for that thread."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


@contextmanager
def still_at_it(connection: Connection) -> Iterator[None]:
    """While an answer is being found, which may take long, tell so now and then."""
    is_found = threading.Event()

    def tell() -> None:
        with suppress(OSError):
            while not is_found.wait(_TOLD_EVERY_SECONDS):
                connection.send(_STILL_AT_IT)

    teller = threading.Thread(target=tell, name="control-patience", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_found.set()
        teller.join()  # which sends with a limit; two must not send at the same time


def answer_to(connection: Connection) -> Any:
    """What the driver answers, however long that takes it, as long as it says that it is still at it."""
    try:
        while connection.poll(_PATIENCE_SECONDS):
            answer = connection.recv()
            if answer != _STILL_AT_IT:
                return answer
    except (EOFError, OSError) as error:
        raise DriverGone(_GONE) from error
    raise DriverGone(f"the driver of this lane says nothing for {_PATIENCE_SECONDS:.0f} s")
