"""The line between the driver and its lanes: plans go out, progress comes back, and an epoch can be ended early.

Spark plans and runs a source in processes of its own, so the driver cannot be called there. It listens instead, on an
address that travels with the pickled source class, guarded by a random key. Everything here is light to import: several
of those processes start before the first record flows.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, Protocol

from heliograph.errors import DriverGone

_CALLS_AT_ONCE = 1024
_DONE = "done"
_DONE_SECONDS = 10.0
_NOTES = 4096  # those of attempts that died before they took theirs are dropped, the oldest first


@dataclass(frozen=True)
class ControlAddress:
    """Where the driver listens, and the key that it asks for."""

    host: str
    port: int
    key: bytes = field(repr=False)


class FlowControl(Protocol):
    """What the driver of a flow answers to the processes that Spark runs for it."""

    @property
    def deal(self) -> int:
        """The number of the newest deal, be it one that is being made; no two deals of a process share one."""

    def next_epoch(self, finished: int) -> int:
        """The epoch to run after the finished one; the same one again when there is nothing to do."""

    def lane_tasks(self, epoch: int) -> Sequence[bytes]:
        """The lanes of an epoch, packed."""

    def lane_began(self, deal: int) -> None:
        """A lane of that deal has started, be it for the second time."""

    def lane_done(self, deal: int) -> None:
        """A lane of that deal has committed all that it had written, and writes no more."""

    def lane_progressed(self, report: Any) -> None:
        """A lane has committed a transaction, and reports what its driver expects of it."""

    def lane_troubled(self, trouble: str) -> None:
        """A lane cannot go on for the moment, and tries again."""


class ControlServer:
    """The driver's end: answers planners and follows lanes, one thread for each connection."""

    def __init__(self, host: str = "127.0.0.1", bound_to: str = "") -> None:
        """Lanes call `host`; what we bind to may have another name."""
        key = secrets.token_bytes(32)
        # A short queue would drop calls when many lanes start at once, and a dropped one waits for ever.
        self._listener = Listener((bound_to or host, 0), backlog=_CALLS_AT_ONCE, authkey=key)
        address = self._listener.address
        assert isinstance(address, tuple)
        self.address = ControlAddress(host, int(address[1]), key)
        self._flows: dict[str, FlowControl] = {}
        self._lanes: dict[str, set[Connection]] = {}
        self._ended: dict[str, int] = {}  # the newest deal of each flow that is over
        self._notes: dict[str, bytes] = {}
        self._is_closed = False
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, name="control", daemon=True).start()

    def add_flow(self, name: str, flow: FlowControl) -> None:
        """Answer for a flow from now on."""
        self._flows[name] = flow

    def end_epoch(self, flow: str) -> None:
        """Ask all lanes of the flow's current epoch to commit and end, also those that have yet to call."""
        with self._lock:
            self._ended[flow] = self._flows[flow].deal
            for lane in self._lanes.get(flow, set()):
                with suppress(OSError):
                    lane.send("end")

    def close(self) -> None:
        """Stop listening; lanes notice and end."""
        self._listener.close()
        with self._lock:
            self._is_closed = True
            for lanes in self._lanes.values():
                for lane in lanes:
                    _hang_up(lane)

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, ConnectionError, EOFError):
                continue  # a stranger, or a lane that died while it connected
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="control-line", daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        with suppress(EOFError, OSError), connection:
            question, flow_name, argument = connection.recv()
            if question == "note":
                connection.send(self._noted(*argument))
                return
            flow = self._flows[flow_name]
            if question == "epoch":
                connection.send(flow.next_epoch(argument))
            elif question == "tasks":
                connection.send(_answer(flow, argument))
            else:
                self._follow(connection, flow_name, flow, argument)

    def _noted(self, name: str, content: bytes | None) -> bytes | None:
        """Keep what one process leaves for another; or hand it over, if nothing is left."""
        with self._lock:
            if content is None:
                return self._notes.pop(name, None)
            self._notes[name] = content
            while len(self._notes) > _NOTES:
                del self._notes[next(iter(self._notes))]
            return None

    def _follow(self, connection: Connection, flow_name: str, flow: FlowControl, deal: int) -> None:
        with self._lock:
            if self._is_closed:  # it had called, but was not known yet
                return
            self._lanes.setdefault(flow_name, set()).add(connection)
            if deal <= self._ended.get(flow_name, 0):
                connection.send("end")
        flow.lane_began(deal)
        try:
            while True:
                message = connection.recv()
                if message == _DONE:
                    flow.lane_done(deal)
                    connection.send(_DONE)
                elif isinstance(message, str):
                    flow.lane_troubled(message)
                else:
                    flow.lane_progressed(message)
        finally:
            with self._lock:
                self._lanes[flow_name].discard(connection)


def _hang_up(connection: Connection) -> None:
    """End a connection that another thread is reading from: closing alone would wait for that thread."""
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _answer(flow: FlowControl, epoch: int) -> Sequence[bytes] | Exception:
    try:
        return flow.lane_tasks(epoch)
    except Exception as error:  # crosses a process border: the other side raises it
        return error


def ask_epoch(address: ControlAddress, flow: str, finished: int) -> int:
    """The epoch to run after the finished one."""
    with _connect(address) as connection:
        connection.send(("epoch", flow, finished))
        return int(connection.recv())


def ask_tasks(address: ControlAddress, flow: str, epoch: int) -> Sequence[bytes]:
    """The lanes of an epoch, packed."""
    with _connect(address) as connection:
        connection.send(("tasks", flow, epoch))
        answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    tasks: Sequence[bytes] = answer
    return tasks


def leave_note(address: ControlAddress, name: str, content: bytes) -> None:
    """Leave something with the driver for another process; it is there when this returns."""
    with _connect(address) as connection:
        connection.send(("note", "", (name, content)))
        connection.recv()


def take_note(address: ControlAddress, name: str) -> bytes:
    """What another process has left under this name; it is gone then."""
    with _connect(address) as connection:
        connection.send(("note", "", (name, None)))
        content: bytes | None = connection.recv()
    if content is None:
        raise DriverGone(f"nobody has left a note named {name}")
    return content


class LaneLine:
    """A lane's end of the line."""

    def __init__(self, address: ControlAddress, flow: str, deal: int) -> None:
        self._connection = _connect(address)
        self._connection.send(("lane", flow, deal))

    def was_told_to_end(self) -> bool:
        """Whether the driver wants the epoch to end; without a driver there is nothing to copy for."""
        try:
            return self._connection.poll() and self._connection.recv() == "end"
        except (EOFError, OSError) as error:
            raise DriverGone("the driver of this lane has ended") from error

    def report(self, message: object) -> None:
        """Tell the driver about a committed transaction, or, with a text, about trouble."""
        try:
            self._connection.send(message)
        except OSError as error:
            raise DriverGone("the driver of this lane has ended") from error

    def say_done(self) -> None:
        """Tell the driver that this lane writes no more; returns when it knows, so that it need not be locked out."""
        deadline = time.monotonic() + _DONE_SECONDS
        self.report(_DONE)
        try:
            while self._connection.poll(max(0.0, deadline - time.monotonic())):
                if self._connection.recv() == _DONE:
                    return
        except (EOFError, OSError) as error:
            raise DriverGone("the driver of this lane has ended") from error

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _connect(address: ControlAddress) -> Connection:
    try:
        return Client((address.host, address.port), authkey=address.key)
    except (OSError, EOFError, AuthenticationError) as error:
        raise DriverGone("the driver of this lane has ended, or is not ours") from error
