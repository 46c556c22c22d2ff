"""Waiting for a condition, with an end to it."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30, interval: float = 0.1) -> None:
    """Come back as soon as the condition holds; fail, naming what was awaited, when the time is over."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(interval)


def is_gone(pid: int) -> bool:
    """Whether a process has ended, also if nobody has asked yet how."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
