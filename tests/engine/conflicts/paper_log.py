"""A log on paper: answers as a cluster would, from lists of times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from heliograph.engine.cluster_log import ClusterLog, Offsets
from heliograph.model import TopicPartition


class PaperLog(ClusterLog):
    """Partitions whose records have these times, one offset each."""

    def __init__(self, times: Mapping[TopicPartition, Iterable[int]]) -> None:
        self.times = {where: list(found) for where, found in times.items()}
        self.firsts = dict.fromkeys(self.times, 0)  # what was before is deleted
        self.hidden: Offsets = {}  # where open transactions begin

    def append(self, where: TopicPartition, *times: int) -> None:
        """Write records."""
        self.times.setdefault(where, []).extend(times)
        self.firsts.setdefault(where, 0)

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {where: self.firsts[where] for where in partitions}

    def ends(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {where: len(self.times[where]) for where in partitions}

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        return {where: min(end, self.hidden.get(where, end)) for where, end in self.ends(partitions).items()}

    def at_time(self, ends: Mapping[TopicPartition, int], time_ms: int) -> Offsets:
        return {where: min(end, self._first_at(where, time_ms)) for where, end in ends.items()}

    def partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        return sorted(where for where in self.times if where.topic in topics)

    def close(self) -> None:
        """Nothing is open."""

    def _first_at(self, where: TopicPartition, time_ms: int) -> int:
        times, first = self.times[where], self.firsts[where]
        return next((offset for offset in range(first, len(times)) if times[offset] >= time_ms), len(times))
