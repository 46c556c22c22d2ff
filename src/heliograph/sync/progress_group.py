"""A consumer group on the source that stands for the mirror, so that stock tools show how far behind it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heliograph.config.flow import FlowConfig
from heliograph.errors import ClusterError
from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Change, Committed, Groups
from heliograph.model import TopicPartition


def progress_group_id(flow: FlowConfig) -> str:
    """The name of the group; empty where the file asks for none."""
    return str(flow.get("progress.group.id")) if flow.get("progress.group.enabled") is True else ""


class ProgressGroup:
    """Commits for the group what is safe on the target; `mirrored` tells the last such offset of each partition."""

    def __init__(self, flow: FlowConfig, mirrored: Callable[[], Mapping[TopicPartition, int]]) -> None:
        self._group = progress_group_id(flow)
        self._source = access_for(flow.source, "admin")
        self._mirrored = mirrored
        self._committed: dict[TopicPartition, Committed] = {}

    def run(self) -> str:
        """Commit what has changed."""
        reached = {where: Committed(offset + 1) for where, offset in self._mirrored().items()}
        changed = {where: item for where, item in reached.items() if self._committed.get(where) != item}
        with Groups(self._source) as groups:
            results = groups.commit({self._group: changed}).get(self._group, {})
        failures = {where: item.reason for where, item in results.items() if item.change is not Change.DONE}
        self._committed |= {where: item for where, item in changed.items() if where not in failures}
        for where, reason in failures.items():
            raise ClusterError(f"group {self._group}: {where}: {reason}; {len(failures)} of {len(changed)} refused")
        return f"{len(reached)} partitions"
