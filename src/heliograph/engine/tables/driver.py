"""The driver of a flow whose records pass through SQL: one micro-batch after the other, as long as there is news."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from heliograph.engine.cluster_log import ClusterLog
from heliograph.engine.flow import FlowDriver, FlowTopics
from heliograph.engine.settings import FlowSettings, LaneSettings
from heliograph.engine.tables.rules import SqlRules
from heliograph.engine.task import LaneTask
from heliograph.errors import BrokerRefused, ClusterError
from heliograph.model import Assignment, LedgerEntry, TopicPartition

_REST_SECONDS = 60.0  # before a partition that was set aside is tried again
_PAUSE_AFTER_TROUBLE = 1.0


class TableFlowDriver(FlowDriver):
    """A driver whose epochs are short: each lane reads what is new, once. Without rules it is as every other."""

    def __init__(self, settings: FlowSettings, topics: FlowTopics, rules: SqlRules | None) -> None:
        super().__init__(settings, topics)
        self._rules = rules
        self._source_log = ClusterLog(settings.source)
        self._tried_at: dict[TopicPartition, float] = {}  # partitions that were set aside, and when

    @property
    def rules(self) -> SqlRules | None:
        """The query of the flow, if it has one."""
        return self._rules

    def renew_rules(self, rules: SqlRules | None) -> None:
        """Go on with another query, or none: Spark's query has to be started anew for that."""
        if rules != self._rules:
            self._rules = rules
            self.wants_new_query = True

    def take_over(self) -> None:
        """As ever: it is followed by a new query of Spark."""
        self.wants_new_query = False
        self._tried_at.clear()
        super().take_over()

    def next_epoch(self, finished: int) -> int:
        """The next micro-batch, as soon as there is something to read."""
        if self._rules is None:
            return super().next_epoch(finished)
        following = super().next_epoch(finished)
        self.has_lanes.set()  # as good as: an idle flow has none
        if following == finished:
            self._source_log.close()
            return finished
        try:
            if self._has_news():
                return following
            time.sleep(self._rules.look_seconds)
        except ClusterError as error:
            self._source_log.close()
            self.lane_troubled(str(error))
            time.sleep(_PAUSE_AFTER_TROUBLE)
        return finished

    def lane_progressed(self, entry: LedgerEntry) -> None:
        """As ever; partitions that are set aside rest a while, or they would start one micro-batch after another."""
        super().lane_progressed(entry)
        now = time.monotonic()
        aside = self.totals.set_aside.copy()
        self._tried_at = {where: self._tried_at.get(where, now) for where in aside}

    @property
    def _writes_elsewhere(self) -> bool:
        return self._rules is not None or super()._writes_elsewhere

    @property
    def _leaves_busy_ids(self) -> bool:
        """With a query, reader and writer of a lane take the same id, one after the other."""
        return self._rules is None

    @property
    def _awaits_all_lanes(self) -> bool:
        return self._rules is None  # with a query, a lane calls when it has something to write

    def _has_news(self) -> bool:
        wanted = [item.source for item in self._awake(self.assignments)]
        try:
            ends = self._current_log().latest(wanted)
        except BrokerRefused:
            return True  # a topic is gone, or may not be read: the lane that reads it tells
        known = self.mirrored_offsets()
        starts_late = self.settings.lane.start_may_move
        return any(end > known[where] + 1 if where in known else end > 0 or starts_late for where, end in ends.items())

    def _current_log(self) -> ClusterLog:
        """What looks at the source, in the way that the settings say now."""
        if self._source_log.access != self.settings.source:
            self._source_log.close()
            self._source_log = ClusterLog(self.settings.source)
        return self._source_log

    def _awake(self, items: Sequence[Assignment]) -> list[Assignment]:
        """Those that are not set aside, and those that are due to be tried again."""
        now = time.monotonic()
        return [item for item in items if now - self._tried_at.get(item.source, -_REST_SECONDS) >= _REST_SECONDS]

    def _task(self, lane: int, items: Sequence[Assignment], share: LaneSettings) -> LaneTask:
        if self._rules is None:
            return super()._task(lane, items, share)
        awake = self._awake(items)
        for item in awake:
            if item.source in self._tried_at:
                self._tried_at[item.source] = time.monotonic()
        # A transaction that is open for longer than its timeout is aborted by the brokers.
        seconds = min(self._rules.batch_seconds, share.transaction_timeout_ms / 4000)
        return replace(super()._task(lane, awake, share), seconds=seconds)
