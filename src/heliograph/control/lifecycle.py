"""The life of a running mirror: start, wait for a signal, drain, end."""

from __future__ import annotations

import logging
import signal
import threading

from heliograph.control.assembly import Assembly
from heliograph.errors import HeliographError

log = logging.getLogger(__name__)

_DRAIN_SECONDS = 15.0


def run_until_signalled(assembly: Assembly) -> None:
    """Mirror until SIGTERM or SIGINT, then drain."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    log.info("starting %s", ", ".join(assembly.flows))
    mirror = assembly.start()
    stopping.wait()
    log.info("stopping: lanes commit what is under way")
    if not mirror.stop(_DRAIN_SECONDS):
        raise HeliographError(
            f"lanes did not end within {_DRAIN_SECONDS:.0f} s; what they had not committed is not lost"
        )
    log.info("stopped")
