"""The driver of a flow whose records pass through SQL: one micro-batch after the other, as long as there is news."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from heliograph.engine.flow import FlowDriver, FlowTopics
from heliograph.engine.settings import FlowSettings, LaneSettings
from heliograph.engine.tables.rules import SqlRules
from heliograph.engine.task import LaneTask
from heliograph.errors import BrokerRefused, ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Assignment, LedgerEntry, TopicPartition

_REST_SECONDS = 60.0  # before a partition that was set aside is tried again
_PAUSE_AFTER_TROUBLE = 1.0


class TableFlowDriver(FlowDriver):
    """A driver whose epochs are short: each lane reads what is new, once. Without rules it is as every other."""

    def __init__(self, settings: FlowSettings, topics: FlowTopics, rules: SqlRules | None) -> None:
        super().__init__(settings, topics)
        self._rules = rules
        self._sight = _Sight(settings.source)
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
            self._sight.close()
            return finished
        try:
            if self._has_news():
                return following
            time.sleep(self._rules.look_seconds)
        except ClusterError as error:
            self._sight.close()
            self.lane_troubled(str(error))
            time.sleep(_PAUSE_AFTER_TROUBLE)
        return finished

    def lane_progressed(self, entry: LedgerEntry) -> None:
        """As ever; partitions that are set aside rest a while, or they would start one micro-batch after another."""
        super().lane_progressed(entry)
        now = time.monotonic()
        aside = self.totals.set_aside.copy()
        self._tried_at = {where: self._tried_at.get(where, now) for where in aside}

    def _has_news(self) -> bool:
        wanted = [item.source for item in self._awake(self.assignments)]
        try:
            ends = self._sights().ends(wanted)
        except BrokerRefused:
            return True  # a topic is gone, or may not be read: the lane that reads it tells
        known = self.mirrored_offsets()
        starts_late = self.settings.lane.start != EARLIEST
        return any(end > known[where] + 1 if where in known else end > 0 or starts_late for where, end in ends.items())

    def _sights(self) -> _Sight:
        """What looks at the source, in the way that the settings say now."""
        if self._sight.access != self.settings.source:
            self._sight.close()
            self._sight = _Sight(self.settings.source)
        return self._sight

    def _awake(self, items: Sequence[Assignment]) -> list[Assignment]:
        """Those that are not set aside, and those that are due to be tried again."""
        now = time.monotonic()
        return [item for item in items if now - self._tried_at.get(item.source, -_REST_SECONDS) >= _REST_SECONDS]

    def _task(self, epoch: int, lane: int, items: Sequence[Assignment], share: LaneSettings) -> LaneTask:
        if self._rules is None:
            return super()._task(epoch, lane, items, share)
        awake = self._awake(items)
        for item in awake:
            if item.source in self._tried_at:
                self._tried_at[item.source] = time.monotonic()
        # A transaction that is open for longer than its timeout is aborted by the brokers.
        seconds = min(self._rules.batch_seconds, share.transaction_timeout_ms / 4000)
        return replace(super()._task(epoch, lane, awake, share), seconds=seconds)


class _Sight:
    """Where the partitions of a source end; keeps its connections."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._network: Network | None = None
        self._topics: set[str] = set()

    def ends(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends for whoever reads committed records."""
        if self._network is None:
            self._network, self._topics = Network(Loop(), self.access), set()
        if new := {where.topic for where in partitions} - self._topics:
            self._network.refresh(new)
            self._topics |= new
        return reading.list_many(self._network, dict.fromkeys(partitions, LATEST), READ_COMMITTED)

    def close(self) -> None:
        """Hang up; the next look connects anew."""
        if self._network is not None:
            with suppress(OSError):
                self._network.loop.close()
        self._network = None
