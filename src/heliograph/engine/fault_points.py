"""Places where a test can make a lane die, hang or freeze, to prove that nothing is lost or repeated at any moment.

A file named after a point in the folder `HELIOGRAPH_FAULTS` arms it: the next lane that gets there removes the file
and kills itself; one named `point.hang` lets it hang there, `point.freeze` freezes its whole process. Without the
variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

_FOLDER = os.environ.get("HELIOGRAPH_FAULTS")

POINTS = ("fenced", "started", "data-written", "bookkeeping-written", "committed")


def _hang() -> None:
    while True:
        time.sleep(3600)


_FAULTS: dict[str, Callable[[], None]] = {
    "": lambda: os.kill(os.getpid(), signal.SIGKILL),
    ".hang": _hang,
    ".freeze": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}


def reached(point: str) -> None:
    """Suffer here what the point is armed for."""
    if _FOLDER is None:
        return
    for suffix, suffer in _FAULTS.items():
        try:
            Path(_FOLDER, point + suffix).unlink()
        except FileNotFoundError:
            continue
        suffer()
