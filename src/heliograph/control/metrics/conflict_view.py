"""Detection of conflicts on each cluster at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from heliograph.conflicts.totals import ConflictTotals
from heliograph.control.conflicts.delay import delay_seconds
from heliograph.control.metrics.partition_view import OTHER
from heliograph.control.running_conflicts import RunningConflicts


@dataclass(frozen=True)
class TopicConflicts:
    """The conflicts of one logical topic, or of all that have no series of their own."""

    cluster: str
    topic: str
    conflicts: int


@dataclass(frozen=True)
class ConflictsView:
    """One cluster on which conflicts are looked for."""

    cluster: str
    totals: ConflictTotals
    delay_seconds: float | None
    most: int  # topics with a series of their own

    @property
    def topics(self) -> Iterator[TopicConflicts]:
        """Topics in the order in which they had their first conflict, since a counter must never fall."""
        known = list(self.totals.by_topic.items())
        for topic, count in islice(known, self.most):
            yield TopicConflicts(self.cluster, topic, count)
        if len(known) > self.most:
            yield TopicConflicts(self.cluster, OTHER, sum(count for _, count in known[self.most :]))


def conflict_views(running: Mapping[str, RunningConflicts], most: int, now_ms: int) -> list[ConflictsView]:
    """How it stands everywhere."""
    return [
        ConflictsView(alias, item.totals, delay_seconds(item.totals, now_ms), most) for alias, item in running.items()
    ]
