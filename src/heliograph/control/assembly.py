"""From a configuration to running flows."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.config.problem import Problem, Severity
from heliograph.control import duties
from heliograph.control.chore_book import ChoreBook
from heliograph.control.chores import Chores
from heliograph.control.flow_settings import flow_settings
from heliograph.control.owner_watch import OwnerWatch
from heliograph.control.standing import Standing
from heliograph.engine.flow import FlowDriver
from heliograph.engine.mirror import Mirror
from heliograph.errors import BrokerRefused, ConfigError
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import Status
from heliograph.model import Assignment, TopicPartition
from heliograph.sync.progress_group import progress_group_id
from heliograph.sync.topics import (
    MAY_CREATE,
    Applied,
    apply_topics,
    create_topics,
    internal_topics,
    keep_ledger_as_long_as_asked,
    read_plan,
)

log = logging.getLogger(__name__)

_NEVER = 1e9
_LARGEST_BATCH = "max.message.bytes"


@dataclass(frozen=True)
class Assembly:
    """The flows of a configuration, ready to start, and what is done beside them."""

    flows: Mapping[str, FlowDriver]
    chores: Sequence[Chores]
    spark: Mapping[str, str]
    refresh_seconds: float
    drain_seconds: float

    def flow(self, name: str) -> FlowDriver:
        """The flow of that name, `A->B`."""
        return self.flows[name]

    def start(self) -> Mirror:
        """Start Spark and all flows."""
        mirror = Mirror(list(self.flows.values()), self.spark, self.refresh_seconds)
        mirror.start()
        return mirror


def assemble(config: MirrorConfig) -> Assembly:
    """Make the driver of every enabled flow, and all chores; connects to nothing yet."""
    enabled = [flow for flow in config.flows if flow.enabled]
    if not enabled:
        hint = "write A->B.enabled = true for at least one pair of clusters"
        raise ConfigError([Problem(Severity.ERROR, "no flow is enabled", hint, config.file)])
    problems = list(_shared_progress_groups(config, enabled))
    if problems:
        raise ConfigError(problems)
    flows = {flow.name: FlowDriver(flow_settings(flow), _FlowTopics(flow)) for flow in enabled}
    return Assembly(
        flows, list(_chores(config, flows)), config.spark, _refresh_seconds(enabled), _drain_seconds(enabled)
    )


def _refresh_seconds(flows: Sequence[FlowConfig]) -> float:
    wanted = [flow.number("refresh.topics.interval.seconds") for flow in flows if flow.get("refresh.topics.enabled")]
    return min((seconds for seconds in wanted if seconds > 0), default=_NEVER)


def _drain_seconds(flows: Sequence[FlowConfig]) -> float:
    return max(flow.number("task.shutdown.graceful.timeout.ms") for flow in flows) / 1000


def _chores(config: MirrorConfig, drivers: Mapping[str, FlowDriver]) -> Iterator[Chores]:
    """Heartbeats begin at once; all else when a flow is ours."""
    for flow in config.flows:
        chores = Chores(flow.name, duties.heartbeats(flow))
        driver = drivers.get(flow.name)
        if driver is not None:
            own = [Standing(driver).chore(), OwnerWatch(driver).chore(), ChoreBook(driver, chores.reports).chore()]
            for chore in (*duties.duties(config, flow, driver), *own):
                chores.add(replace(chore, may_begin=driver.in_charge))
        yield chores


def _shared_progress_groups(config: MirrorConfig, flows: Sequence[FlowConfig]) -> Iterator[Problem]:
    taken: dict[tuple[str, str], str] = {}
    for flow in flows:
        group = progress_group_id(flow)
        owner = taken.setdefault((flow.source.alias, group), flow.name)
        if group and owner != flow.name:
            message = f"{owner} and {flow.name} would both commit for the group {group} on {flow.source.alias}"
            hint = f"write {flow.name}.progress.group.id = another name"
            yield Problem(Severity.ERROR, message, hint, config.file)


class _FlowTopics:
    """Finds what a flow mirrors, and creates on the target what it lacks."""

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
                keep_ledger_as_long_as_asked(self._flow, target)
            except BrokerRefused as error:
                self._once(f"{self._flow.name}: the ledger's retention stays as it is: {error}")

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
        return [Assignment(source, where, self._limits[where.topic]) for source, where in ready.items()]

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
