"""The HTTP server of a running mirror, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace

import uvicorn

from heliograph.config.rest_check import rest_access
from heliograph.config.stores import StoreError
from heliograph.control.rest.app import create_app
from heliograph.control.rest.audit import AuditLog
from heliograph.control.rest.connection import EntranceConfig
from heliograph.control.rest.entrance import Entrance, close_all, entrances
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import StartError

log = logging.getLogger(__name__)

_STOP_SECONDS = 10.0


class RestServer:
    """Serves REST, metrics and the web page of a mirror, whether the mirror has started or not."""

    def __init__(self, mirror: RunningMirror, listeners: Sequence[str] | None = None) -> None:
        """For these addresses, or for those of the configuration. Raises ConfigError if they cannot be allowed."""
        self._access = rest_access(mirror.config, listeners)
        self._audit = AuditLog(self._access.audit_file)
        self._app = create_app(mirror, self._access, self._audit)
        self._servers: list[uvicorn.Server] = []
        self._thread: threading.Thread | None = None
        self.addresses: tuple[str, ...] = ()

    def start(self) -> None:
        """Listen, and answer from now on. Raises StartError if an address cannot be had."""
        self._audit.open()
        self._servers = [uvicorn.Server(self._settings(entrance)) for entrance in entrances(self._access)]
        opened = self._open()
        self.addresses = tuple(_address(entrance, sockets[0]) for entrance, sockets in opened)
        sockets = [sockets for _, sockets in opened]
        self._thread = threading.Thread(target=self._run, args=(sockets,), name="rest", daemon=True)
        self._thread.start()
        log.info("REST server on %s", ", ".join(self.addresses))

    def stop(self) -> None:
        """Let requests under way end, stop operations so that they can be run again, then close."""
        for server in self._servers:
            server.should_exit = True
        self._app.state.operations.close()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)

    def _settings(self, entrance: Entrance) -> EntranceConfig:
        try:
            return EntranceConfig(self._app, entrance)
        except StoreError as error:
            raise StartError(f"the REST server cannot listen on {entrance.listener}: {error}") from None

    def _open(self) -> list[tuple[Entrance, list[socket.socket]]]:
        opened: list[tuple[Entrance, list[socket.socket]]] = []
        try:
            for entrance in entrances(self._access):
                opened.append((entrance, entrance.open()))
        except StartError:
            for _, sockets in opened:
                close_all(sockets)
            raise
        return opened

    def _run(self, sockets: Sequence[list[socket.socket]]) -> None:
        try:
            asyncio.run(self._serve(sockets))
        except Exception:
            log.exception("the REST server has ended; mirroring goes on without it")

    async def _serve(self, sockets: Sequence[list[socket.socket]]) -> None:
        await asyncio.gather(*(server.serve(each) for server, each in zip(self._servers, sockets, strict=True)))


def _address(entrance: Entrance, opened: socket.socket) -> str:
    """The address as it was asked for, with the port that it got."""
    return str(replace(entrance.listener, port=opened.getsockname()[1]))
