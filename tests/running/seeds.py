"""Chance that can be had again: one seed for a whole run, printed at its beginning."""

from __future__ import annotations

import os
import random

VARIABLE = "HELIOGRAPH_SEED"


def choose() -> int:
    """The seed of this run: the one asked for, else a new one, which child processes then share."""
    return int(os.environ.setdefault(VARIABLE, str(random.randrange(1, 10**9))))


def replay() -> str:
    """What to put before a command so that all chance falls as it did in this run."""
    return f"{VARIABLE}={choose()}"
