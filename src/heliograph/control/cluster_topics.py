"""Finds what a flow mirrors, and creates on the target what it lacks."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from heliograph.config.flow import FlowConfig
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Status
from heliograph.model import Assignment, TopicPartition
from heliograph.sync.topics import (
    MAY_CREATE,
    Applied,
    apply_topics,
    create_topics,
    internal_topics,
    keep_internal_settings,
    read_plan,
)

log = logging.getLogger(__name__)

_LARGEST_BATCH = "max.message.bytes"


class ClusterTopics:
    """The topics of both clusters of a flow."""

    def __init__(self, flow: FlowConfig) -> None:
        self._flow = flow
        self._source = access_for(flow.source, "admin")
        self._target = access_for(flow.target, "admin")
        self._told: set[str] = set()
        self._limits: dict[str, int] = {}

    def prepare(self) -> None:
        """Create the topics for positions and ledger."""
        if self._flow.get(MAY_CREATE) is not True:
            return
        with Admin(self._target) as target:
            self._tell(create_topics(internal_topics(self._flow), target))
            try:
                keep_internal_settings(self._flow, target)
            except BrokerRefused as error:
                self._once(f"{self._flow.name}: settings of internal topics stay as they are: {error}")

    def find(self, set_aside: Collection[TopicPartition]) -> Sequence[Assignment]:
        """All partitions that can be mirrored now."""
        with Admin(self._source) as source, Admin(self._target) as target:
            plan = read_plan(self._flow, source, target)
            for problem in plan.problems:
                self._once(f"{self._flow.name}: {problem}")
            self._tell(apply_topics(plan, target))
            ready = plan.ready_on(target.topics(list(plan.names.values())))
            for source_partition in ready.keys() & set(set_aside):
                self._limits.pop(ready[source_partition].topic, None)
            self._learn_limits({where.topic for where in ready.values()}, target)
        return [
            Assignment(source, where, self._limits[where.topic], self._remote_topic(source.topic))
            for source, where in ready.items()
        ]

    def _remote_topic(self, topic: str) -> str:
        """What the policy calls a topic on the target: transforms begin with that name."""
        return self._flow.replication_policy.format_remote_topic(self._flow.source.alias, topic)

    def _learn_limits(self, topics: set[str], target: Admin) -> None:
        """How large a batch the target takes: asked once for each topic, and again while one of it is set aside."""
        unknown = topics - self._limits.keys()
        for topic, settings in target.topic_settings(sorted(unknown)).items():
            self._limits[topic] = int(settings[_LARGEST_BATCH].value or 0)

    def transactional_ids(self, prefix: str) -> Collection[str]:
        """The transactional ids on the target that begin so."""
        with Admin(self._target) as target:
            return target.transactional_ids(prefix)

    def _tell(self, applied: Sequence[Applied]) -> None:
        for item in applied:
            where = f"{self._flow.name}: {item.action} {item.topic} on {self._target.alias}"
            if item.outcome.status is Status.DONE:
                log.info("%s: done%s", where, f", but it {item.warning}" if item.warning else "")
            elif item.outcome.status is Status.REFUSED:
                log.error("%s: refused: %s", where, item.outcome.reason)

    def _once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            log.error(message)
