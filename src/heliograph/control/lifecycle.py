"""The life of the process that mirrors: start, wait for a signal, drain, end."""

from __future__ import annotations

import logging
import signal
import threading

from heliograph.control.assembly import Assembly
from heliograph.control.supervisor import tell_started
from heliograph.errors import HeliographError

log = logging.getLogger(__name__)

_LOOK_INTERVAL = 0.2
_CHORES_SECONDS = 2.0


def run_until_signalled(assembly: Assembly, stopping: threading.Event | None = None) -> None:
    """Mirror until SIGTERM, SIGINT or the event, then drain; raises if a failure ended it before."""
    over = stopping or threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    log.info("starting %s", ", ".join(assembly.flows))
    mirror = assembly.start()
    tell_started()
    for chores in assembly.chores:
        chores.start()
    while not over.wait(_LOOK_INTERVAL) and mirror.is_running:
        pass
    log.info("stopping: lanes commit what is under way")
    patience = assembly.drain_seconds
    is_drained = mirror.stop(patience)
    for chores in assembly.chores:
        chores.begin_stop()
    for chores in assembly.chores:
        chores.stop(_CHORES_SECONDS)
    if not is_drained:
        text = f"lanes did not end within {patience:.0f} s; what they had not committed will be copied next time"
        raise HeliographError(text)
    if mirror.failure is not None:
        raise mirror.failure
    log.info("stopped")
