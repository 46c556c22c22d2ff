"""The life of the process that mirrors: start, wait for a signal, drain, end."""

from __future__ import annotations

import logging
import signal
import threading

from heliograph.control.running_mirror import RunningMirror
from heliograph.control.supervisor import tell_started

log = logging.getLogger(__name__)

_LOOK_INTERVAL = 0.2


def run_until_signalled(mirror: RunningMirror, stopping: threading.Event | None = None) -> None:
    """Mirror until SIGTERM, SIGINT or the event, then drain; raises if a failure ended it before."""
    over = stopping or threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    log.info("starting %s", ", ".join(mirror.flows))
    mirror.start()
    tell_started()
    while not over.wait(_LOOK_INTERVAL) and mirror.is_running:
        pass
    log.info("stopping: lanes commit what is under way")
    mirror.stop()
    log.info("stopped")
