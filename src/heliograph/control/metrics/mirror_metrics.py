"""The page that Prometheus reads, made at most every second or so, however many ask for it."""

from __future__ import annotations

import gzip
import threading
import time
from functools import cached_property

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from heliograph.control.metrics.mirror_view import MirrorLooker
from heliograph.control.metrics.table import GROUPS
from heliograph.control.metrics.text import render
from heliograph.control.running_mirror import RunningMirror

PARTITIONS_MAX = "metrics.partitions.max"

_SHORTEST_LIFE = 1.0
_LONGEST_LIFE = 10.0
_LIFE_PER_COST = 50.0  # a page that takes long to make serves for longer: at most 2 % of a core go into pages


class Page:
    """One page of metrics, plain and packed."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    @cached_property
    def packed(self) -> bytes:
        """The same, compressed once for all who ask."""
        return gzip.compress(self.text, compresslevel=1, mtime=0)


class MirrorMetrics:
    """Follows a mirror from when it is made on; to be made before the mirror starts, so that nothing is missed."""

    def __init__(self, mirror: RunningMirror) -> None:
        most = mirror.config.get(PARTITIONS_MAX)
        assert isinstance(most, int)
        self._most = most
        self._looker = MirrorLooker(mirror)
        self._lock = threading.Lock()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._page: Page | None = None
        self._good_until = 0.0
        self._page_seconds = 0.0

    def recent(self) -> Page | None:
        """The last page, if it still serves."""
        return self._page if time.monotonic() < self._good_until else None

    def page(self) -> Page:
        """The last page if it still serves, else a new one, which takes a moment to make."""
        with self._lock:
            page = self.recent()
            if page is None:
                page = self._page = self._make()
            return page

    def _make(self) -> Page:
        began, cpu = time.monotonic(), time.thread_time()
        view = self._looker.look(self._most, self._page_seconds)
        page = Page(render(GROUPS, view).encode() + generate_latest(self._registry))
        page.packed  # noqa: B018 - nearly all who ask take it
        self._page_seconds = time.monotonic() - began
        cost = time.thread_time() - cpu
        self._good_until = began + min(_LONGEST_LIFE, max(_SHORTEST_LIFE, cost * _LIFE_PER_COST))
        return page
