"""What Ctrl-C and SIGTERM do while something runs that must be cleaned up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any


def terminable() -> AbstractContextManager[None]:
    """SIGTERM ends the work as Ctrl-C does: with its clean-up."""
    return _handled({signal.SIGTERM: signal.default_int_handler})


def uninterrupted() -> AbstractContextManager[None]:
    """Whoever is impatient during a clean-up would leave its rest behind."""
    return _handled({signal.SIGINT: signal.SIG_IGN, signal.SIGTERM: signal.SIG_IGN})


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Signals can only be handled in the main thread; elsewhere nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
