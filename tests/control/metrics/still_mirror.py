"""A mirror that is not started, and whose flow is told what would have happened."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heliograph.config.mirror_config import load
from heliograph.control.lag_watch import PartitionLag
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.engine.flow import FlowDriver, _Plan
from heliograph.model import Assignment, Event, LedgerEntry, PartitionProgress, Run, TopicPartition

FLOW = "A->B"
_FILE = """clusters = A, B
A.bootstrap.servers = 127.0.0.1:1
B.bootstrap.servers = 127.0.0.1:2
A->B.enabled = true
B->A.emit.heartbeats.enabled = false
"""


@dataclass
class StillMirror:
    """The mirror and its only flow."""

    mirror: RunningMirror
    flow: RunningFlow
    driver: FlowDriver

    @classmethod
    def of(cls, folder: Path, settings: str = "", partitions: int = 2, topic: str = "orders") -> StillMirror:
        """A mirror whose flow has found a topic of so many partitions, and is ours."""
        file = folder / "mm2.properties"
        file.write_text(_FILE + settings)
        mirror = RunningMirror(load(file))
        flow = mirror.flow(FLOW)
        assert flow.driver is not None
        made = cls(mirror, flow, flow.driver)
        flow.driver._assignments = [
            Assignment(TopicPartition(topic, number), TopicPartition(f"A.{topic}", number))
            for number in range(partitions)
        ]
        flow.driver._plan = _Plan([flow.driver.assignments], {})
        flow.driver.in_charge.set()
        made.lags(dict.fromkeys(range(partitions), 0), topic=topic)
        return made

    def lags(self, records: dict[int, int], seconds: float = 0.0, topic: str = "orders") -> None:
        """So many records wait in each partition, the first for so long, as seen just now."""
        watch = self.flow.lag_watch
        assert watch is not None
        watch._lags = {
            TopicPartition(topic, number): PartitionLag(-1, count, count, seconds if count else 0.0)
            for number, count in records.items()
        }
        watch._looked_at = time.monotonic()

    def looked(self, seconds_ago: float) -> None:
        """The source was last asked so long ago."""
        assert self.flow.lag_watch is not None
        self.flow.lag_watch._looked_at = time.monotonic() - seconds_ago

    def mirrored(
        self,
        records: Sequence[int],
        latency_ms: int = 10,
        commit_ms: int = 4,
        events: Sequence[Event] = (),
        size: int = 7,
    ) -> None:
        """A transaction with so many records of each partition was committed just now."""
        now = int(time.time() * 1000)
        progress = [
            PartitionProgress(
                item.source, item.target, (Run(0, 0, count),), count - 1, size * count, *[now - latency_ms] * 3
            )
            for item, count in zip(self.driver.assignments, records, strict=False)
            if count
        ]
        entry = LedgerEntry(FLOW, 0, "me", 1, now - commit_ms, progress, tuple(events), committed_at_ms=now)
        self.driver.lane_progressed(entry)
