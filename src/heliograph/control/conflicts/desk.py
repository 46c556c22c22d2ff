"""The decisions of the last hour, for all who ask a running mirror."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from heliograph.control.conflicts.book import HOUR_MS
from heliograph.control.conflicts.watch import EXAMPLES, ClusterConflicts, ConflictWatch, Span
from heliograph.control.running_mirror import RunningMirror

_RECENT_SECONDS = 2.0


class ConflictDesk:
    """Reads nothing before someone asks; after that, each time only what is new, however many ask."""

    def __init__(self, mirror: RunningMirror) -> None:
        self._mirror = mirror
        self._lock = threading.Lock()
        self._watch: ConflictWatch | None = None
        self._known: Sequence[ClusterConflicts] = ()
        self._good_until = 0.0

    def look(self) -> Sequence[ClusterConflicts]:
        """How it stands on each cluster where this mirror looks for conflicts; nobody waits while another reads."""
        if not self._lock.acquire(blocking=not self._known):
            return self._known
        try:
            if time.monotonic() >= self._good_until:
                self._known = self._following().look(EXAMPLES)
                self._good_until = time.monotonic() + _RECENT_SECONDS
            return self._known
        finally:
            self._lock.release()

    def _following(self) -> ConflictWatch:
        if self._watch is None:
            self._watch = ConflictWatch(self._mirror.config, self._mirror.conflicts, Span.last(HOUR_MS))
        return self._watch
