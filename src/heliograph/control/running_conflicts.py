"""Detection of conflicts on one cluster while it runs, beside the flows that bring records there."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from functools import partial

from heliograph.config.conflict_config import ConflictConfig
from heliograph.conflicts.resolvers.catalogue import make_resolver
from heliograph.conflicts.totals import ConflictTotals
from heliograph.control.conflict_topics import ConflictTopics
from heliograph.control.running_flow import RunningFlow
from heliograph.engine.conflicts.driver import DetectionDriver
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.conflicts.settings import Brought, DetectionSettings
from heliograph.kafka.access import access_for
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

_STARTS = {"earliest": EARLIEST, "latest": LATEST}


class RunningConflicts:
    """Conflicts on one cluster."""

    def __init__(self, config: ConflictConfig, flows: Callable[[], Collection[RunningFlow]]) -> None:
        self.config = config
        self._flows = flows
        self._topics = ConflictTopics(config)
        self.driver = DetectionDriver(_settings(config), self)

    @property
    def totals(self) -> ConflictTotals:
        """How it gets on."""
        return self.driver.totals

    def look(self) -> Scope:
        """The topics in which conflicts are looked for, after all that is missing for that was created."""
        return self._topics.look()

    def hang_up(self) -> None:
        """Close connections."""
        self._topics.hang_up()

    def brought(self) -> Brought:
        """How far the flows are that bring records to these topics."""
        flows = list(self._upstream())
        until_ms = min((self._brought_until(flow) for flow in flows), default=int(time.time() * 1000))
        return Brought(until_ms, frozenset(self._targets(flows)))

    def _upstream(self) -> Iterator[RunningFlow]:
        """The flows that bring records to the cluster, over however many others; none brings its own ones home."""
        home = self.config.cluster.alias
        reached = [home]
        for alias in reached:
            for flow in self._flows():
                source = flow.config.source.alias
                if flow.driver is not None and flow.config.target.alias == alias and source != home:
                    yield flow
                    if source not in reached:
                        reached.append(source)

    def _targets(self, flows: Collection[RunningFlow]) -> Iterator[TopicPartition]:
        """The partitions of the cluster that flows bring such records to."""
        for flow in flows:
            if flow.driver is not None and flow.config.target.alias == self.config.cluster.alias:
                for item in flow.driver.assignments:
                    if self._topics.has(item.target.topic):
                        yield item.target

    def _brought_until(self, flow: RunningFlow) -> int:
        """Partitions that are set aside are not waited for: nobody knows when they will go on."""
        watch = flow.lag_watch
        assert watch is not None
        if watch.looked_at_ms is None:
            return 0
        aside = flow.set_aside()
        known = flow.lags().keys() | watch.left_out.keys()  # nothing may be known of those that cannot be asked
        wanted = [where for where in known if where not in aside and self._topics.has(where.topic)]
        return min(map(watch.mirrored_until_ms, wanted), default=watch.looked_at_ms)


def _settings(config: ConflictConfig) -> DetectionSettings:
    return DetectionSettings(
        alias=config.cluster.alias,
        access=access_for(config.cluster, "producer"),
        bounds=config.bounds,
        make_resolver=partial(make_resolver, dict(config.texts)),
        lateness_ms=config.number("conflicts.lateness.ms"),
        wait_max_ms=config.number("conflicts.wait.max.ms"),
        start=_STARTS[str(config.get("conflicts.start"))],
        tasks=config.number("conflicts.tasks.max"),
    )
