"""Writes into the flow's state how far the source reaches, to tell after its loss what was not mirrored."""

from __future__ import annotations

import time

from heliograph.control.chores import Chore
from heliograph.control.lag_watch import LagWatch
from heliograph.engine.flow import FlowDriver
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.writer import Writer
from heliograph.ledger import entries
from heliograph.model import SourceSight, TopicPartition

_LOOK_SECONDS = 2.0
_REPEAT_SECONDS = 15.0  # while nothing is behind


class SightBook(Closeable):
    """Notes every look at the source that found something to copy, and now and then that there was nothing."""

    def __init__(self, flow: FlowDriver, watch: LagWatch) -> None:
        self._flow = flow
        self._watch = watch
        self._where = TopicPartition(flow.settings.topics.state, 0)
        self._writer = Writer(flow.settings.target)
        self._told = SourceSight(0)

    def chore(self) -> Chore:
        """The noting as periodic work."""
        return Chore("sight", _LOOK_SECONDS, self.write, self.close)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()

    def write(self) -> str:
        """Write the last look down, unless that is done or there is nothing new to tell."""
        seconds_ago, lags = self._watch.seconds_since_look(), self._watch.lags()
        at_ms = int((time.time() - seconds_ago) * 1000)
        ends = {where: lag.end for where, lag in lags.items() if lag.records}
        if not lags or at_ms - self._told.at_ms < (1 if ends != self._told.ends else _REPEAT_SECONDS) * 1000:
            return ""
        self._told = SourceSight(at_ms, ends)
        self._writer.append(self._where, [entries.sight_record(self._flow.name, self._flow.owner, self._told)])
        return f"{len(ends)} of {len(lags)} partitions behind"
