"""Follows the decisions of several clusters: what each has to tell, and why not if it cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from heliograph.config.cluster import ClusterConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.conflicts.decision import Decision, as_text
from heliograph.control.conflicts.book import ConflictBook, Figures
from heliograph.control.conflicts.comparison import Agreement, Comparison
from heliograph.control.conflicts.log import DecisionLog
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for

EXAMPLES = 200


@dataclass(frozen=True)
class Wanted:
    """Which decisions count."""

    topic: str | None = None
    key: str | None = None  # as decisions tell it

    def fits(self, decision: Decision) -> bool:
        """Whether a decision does."""
        if self.topic is not None and decision.logical_topic != self.topic:
            return False
        return self.key is None or as_text(decision.conflict.key)[0] == self.key


@dataclass(frozen=True)
class Span:
    """From which time on decisions count, and from how much before they are read."""

    since_ms: int
    span_ms: int
    head_start_ms: int = 0

    @classmethod
    def last(cls, span_ms: int, head_start_ms: int = 0) -> Span:
        """The time up to now."""
        return cls(now() - span_ms, span_ms, head_start_ms)


@dataclass(frozen=True)
class ClusterConflicts:
    """How it stands with conflicts on one cluster."""

    cluster: str
    is_on: bool  # whether the file says to look for conflicts there
    exists: bool  # whether there is a topic with decisions
    trouble: str  # why the newest are not known; empty if they are
    unreadable: int  # records in the topic that are no decisions
    figures: Figures


class ClusterWatch:
    """Follows one cluster over the last span of time."""

    def __init__(self, cluster: ClusterConfig, is_on: bool, span: Span, wanted: Wanted) -> None:
        self.alias = cluster.alias
        self.is_on = is_on
        self.trouble = ""
        self._wanted = wanted
        self._log = DecisionLog(access_for(cluster, "consumer"), span.since_ms - span.head_start_ms)
        self._book = ConflictBook(span.since_ms, span.span_ms, EXAMPLES)

    def catch_up(self, tell: Callable[[str, Decision], None] | None = None) -> None:
        """Read what is new; `tell` hears of all that is wanted, also of what is too old for the book."""
        try:
            for decision, size in self._log.read():
                if self._wanted.fits(decision):
                    self._book.add(decision, size, now())
                    if tell is not None:
                        tell(self.alias, decision)
            self.trouble = ""
        except ClusterError as error:
            self.trouble = str(error)

    def look(self, now_ms: int, limit: int) -> ClusterConflicts:
        """How it stands, as far as it was read."""
        figures = self._book.figures(now_ms, limit)
        log = self._log
        return ClusterConflicts(self.alias, self.is_on, log.exists, self.trouble, log.unreadable, figures)


class ConflictWatch:
    """Follows several clusters; may be asked from several threads."""

    def __init__(self, config: MirrorConfig, aliases: Iterable[str], span: Span, wanted: Wanted | None = None) -> None:
        self._since_ms = span.since_ms
        self._detection = {item.cluster.alias: item.own_topics.covers for item in config.conflicts}
        self._lock = threading.Lock()
        self._watches = [
            ClusterWatch(config.clusters[alias], alias in self._detection, span, wanted or Wanted())
            for alias in aliases
        ]

    def look(self, limit: int) -> list[ClusterConflicts]:
        """Read what is new, and tell how it stands."""
        with self._lock:
            for watch in self._watches:
                watch.catch_up()
            return self._stands(limit)

    def compare(self, limit: int) -> tuple[list[ClusterConflicts], Agreement | None]:
        """The same, to be asked only once, and whether the clusters decide alike; None if that cannot be told."""
        on = [watch for watch in self._watches if watch.is_on]
        comparison = Comparison({watch.alias: self._detection[watch.alias] for watch in on})
        with self._lock:
            for watch in self._watches:
                watch.catch_up(comparison.add)
            can_tell = len(on) > 1 and not any(watch.trouble for watch in on)
            return self._stands(limit), comparison.result(self._since_ms, now()) if can_tell else None

    def _stands(self, limit: int) -> list[ClusterConflicts]:
        now_ms = now()
        return [watch.look(now_ms, limit) for watch in self._watches]


def now() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)
