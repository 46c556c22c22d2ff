"""TLS that follows its files: a renewed certificate counts from the next connection on."""

from __future__ import annotations

import logging
import ssl
import time

from heliograph.config.server_tls import ServerTls, server_context
from heliograph.config.stores import StoreError

log = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0


class FollowedTls:
    """Hands each connection the context of the files as they are now, or as they last could be used."""

    def __init__(self, tls: ServerTls) -> None:
        self._tls = tls
        self._looked_at = time.monotonic()
        self._seen = self._stamps()
        self._current = server_context(tls)
        self.context = server_context(tls)  # what the listening socket has
        self.context.sni_callback = self._choose  # is called for each connection, also for those without a name

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _base: ssl.SSLContext) -> None:
        self._look()
        connection.context = self._current

    def _look(self) -> None:
        if time.monotonic() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = time.monotonic()
        stamps = self._stamps()
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            self._current = server_context(self._tls)
            log.info("the REST server uses its renewed certificates")
        except StoreError as error:
            log.error("the REST server keeps its old certificates: %s", error)

    def _stamps(self) -> list[tuple[int, int, int]]:
        stamps = []
        for file in self._tls.files():
            try:
                status = file.stat()
                stamps.append((status.st_mtime_ns, status.st_size, status.st_ino))
            except OSError:
                stamps.append((0, 0, 0))
        return stamps
