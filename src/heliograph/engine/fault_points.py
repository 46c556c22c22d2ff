"""Places where a test can make a lane die, to prove that nothing is lost or repeated whatever the moment.

A file named after a point in the folder `HELIOGRAPH_FAULTS` arms it: the next lane that gets there removes the file
and kills itself. Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_FOLDER = os.environ.get("HELIOGRAPH_FAULTS")

POINTS = ("fenced", "started", "data-written", "bookkeeping-written", "committed")


def reached(point: str) -> None:
    """Die here if the point is armed."""
    if _FOLDER is None:
        return
    try:
        Path(_FOLDER, point).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
