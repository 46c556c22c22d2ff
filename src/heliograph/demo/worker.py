"""Somebody in the demo who does one thing until told to stop, in a thread."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod


class Worker(ABC):
    """Its failure is kept for whoever watches: a thread has nobody to raise to."""

    def __init__(self, name: str) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is under way, and end."""
        self._stopping.set()
        self._thread.join()

    @abstractmethod
    def work(self) -> None:
        """Work until `_stopping` is set."""

    def _run(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.failure = error
