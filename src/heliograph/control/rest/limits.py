"""How much, how long and how often: what one client may ask of the server."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from starlette.types import Message, Receive

from heliograph.control.rest.errors import RestError

BODY_BYTES: Final = 1024 * 1024
HEADER_BYTES: Final = 32 * 1024
HEADERS: Final = 100
TARGET_BYTES: Final = 8 * 1024
CONNECTIONS: Final = 500
ARRIVAL_SECONDS: Final = 30.0  # for a whole request
STUCK_SECONDS: Final = 60.0  # for a client that does not read its answer
IDLE_SECONDS: Final = 30  # between requests

_ATTEMPTS: Final = 10
_WINDOW_SECONDS: Final = 60.0
_KEPT_CLIENTS: Final = 10_000


class Attempts:
    """Counts what each client does of one kind, and tells when it is too often."""

    def __init__(self, allowed: int = _ATTEMPTS, seconds: float = _WINDOW_SECONDS) -> None:
        self._allowed = allowed
        self._seconds = seconds
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()  # when it began, how many since

    def add(self, client: str) -> int:
        """Note one more; returns how many there are now."""
        began, count = self._window(client)
        self._windows[client] = (began, count + 1)
        self._windows.move_to_end(client)
        while len(self._windows) > _KEPT_CLIENTS:
            self._windows.popitem(last=False)
        return count + 1

    def seconds_to_wait(self, client: str) -> float:
        """How long until the client may try again; 0: now."""
        began, count = self._window(client)
        return began + self._seconds - time.monotonic() if count >= self._allowed else 0.0

    def _window(self, client: str) -> tuple[float, int]:
        now = time.monotonic()
        began, count = self._windows.get(client, (now, 0))
        return (began, count) if now - began < self._seconds else (now, 0)


def check_size(headers: Sequence[tuple[bytes, bytes]], target: int) -> None:
    """Refuse requests whose first lines are longer than any that are meant well."""
    if target > TARGET_BYTES:
        raise RestError(414, f"the address is longer than {TARGET_BYTES} bytes")
    if len(headers) > HEADERS or sum(len(name) + len(value) for name, value in headers) > HEADER_BYTES:
        raise RestError(431, f"there are more than {HEADERS} headers, or more than {HEADER_BYTES} bytes of them")


async def read_body(receive: Receive, stated_length: str | None) -> bytes:
    """The whole body of a request, if it is not too long."""
    if stated_length is not None and stated_length.isdecimal() and int(stated_length) > BODY_BYTES:
        raise _too_long()
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise RestError(400, "the request ended before its body did")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > BODY_BYTES:
            raise _too_long()
        if not message.get("more_body", False):
            return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body that was read already, and then goes on."""
    waiting = [body]

    async def receive_again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return receive_again


def _too_long() -> RestError:
    return RestError(413, f"the body is longer than {BODY_BYTES} bytes")
