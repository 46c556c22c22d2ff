"""The life of the process that mirrors: start, wait for a signal, drain, end."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Protocol

from heliograph.control.running_mirror import RunningMirror
from heliograph.control.supervisor import tell_started

log = logging.getLogger(__name__)

_LOOK_INTERVAL = 0.2


class Server(Protocol):
    """What answers questions about the mirror meanwhile."""

    def start(self) -> None:
        """Begin to answer."""

    def stop(self) -> None:
        """Answer no longer."""


def run_until_signalled(
    mirror: RunningMirror, server: Server | None = None, stopping: threading.Event | None = None
) -> None:
    """Mirror until SIGTERM, SIGINT or the event, then drain; raises if a failure ended it before."""
    over = stopping or threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    log.info("starting %s", ", ".join(mirror.flows))
    if server is not None:
        server.start()
    try:
        mirror.start()
        tell_started()
        while not over.wait(_LOOK_INTERVAL) and mirror.is_running:
            pass
        log.info("stopping: lanes commit what is under way")
        mirror.stop()
    finally:
        if server is not None:
            server.stop()
    log.info("stopped")
