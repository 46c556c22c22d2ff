"""The step that waits until producers have stopped, or stops them."""

from __future__ import annotations

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.model import TopicPartition
from heliograph.recovery.books import is_carried
from heliograph.recovery.journal import Journal
from heliograph.recovery.producers.fence import Fence, FenceWay, ProducerFence
from heliograph.recovery.producers.watch import ProducerWatch
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.wording import counted
from heliograph.sync.topics import mirrored_names


def fence_key(alias: str) -> str:
    """Under which name the journal remembers the fence around a cluster's topics."""
    return f"fence of {alias}"


class StopProducers(Step):
    """Nothing new reaches the source any more."""

    name = "producers"
    title = "Wait until producers have stopped"

    def __init__(
        self, flow: FlowConfig, journal: Journal, way: FenceWay | None, quiet_seconds: float, seconds: float
    ) -> None:
        """`way`: how to keep producers out; without one, they are only waited for."""
        self._flow = flow
        self._journal = journal
        self._way = way
        self._quiet_seconds = quiet_seconds
        self._seconds = seconds

    def outlook(self) -> Outlook:
        """Who would be waited for, or kept out."""
        with self._admin() as admin:
            topics = self._topics(admin)
            if self._way is not None:
                fence = ProducerFence(admin, self._way)
                plan = fence.plan(topics, self._remembered())
                closed = f"; closed already: {', '.join(names)}" if (names := fence.closed_before(plan)) else ""
                return Outlook(f"{counted(len(topics), 'topic')} would be closed ({self._way.value}){closed}")
        return Outlook(f"would wait until {counted(len(topics), 'topic')} stood still for {self._quiet_seconds:g} s")

    def do(self, tell: Tell) -> str:
        """Put the fence up, which is remembered first, and wait until nothing moves."""
        with self._admin() as admin:
            topics = self._topics(admin)
            if self._way is not None:
                tell(f"closing {counted(len(topics), 'topic')}")
                fence = ProducerFence(admin, self._way)
                plan = fence.plan(topics, self._remembered())
                self._journal.remember(fence_key(self._flow.source.alias), plan.to_dict())
                fence.apply(plan)
            watch = ProducerWatch(admin, _partitions(admin, topics))
            watch.quiet_for(self._quiet_seconds, self._seconds, lambda writing: tell(str(writing)))
        kept_out = ", closed to producers" if self._way else ""
        return f"{counted(len(topics), 'topic')} stood still for {self._quiet_seconds:g} s{kept_out}"

    def undo(self) -> str:
        """Let producers in again."""
        return lift_fence(self._flow.source.alias, self._journal, self._flow)

    def _topics(self, admin: Admin) -> list[str]:
        return sorted(topic for topic in mirrored_names(self._flow, admin.topics()) if is_carried(self._flow, topic))

    def _remembered(self) -> Fence | None:
        known = self._journal.recall(fence_key(self._flow.source.alias))
        return None if known is None else Fence.from_dict(known)

    def _admin(self) -> Admin:
        return Admin(access_for(self._flow.source, "admin"))


class LiftFence(Step):
    """Lets producers in again where an earlier operation kept them out."""

    name = "reopen"
    title = "Open topics that were closed to producers"

    def __init__(self, flow: FlowConfig, journal: Journal, alias: str) -> None:
        """`alias`: the cluster of the flow whose topics are opened."""
        self._flow = flow
        self._journal = journal
        self._alias = alias

    def outlook(self) -> Outlook:
        """What is closed."""
        known = self._journal.recall(fence_key(self._alias))
        return Outlook(f"{counted(len(known['before']), 'topic')} would be opened" if known else "no topic was closed")

    def do(self, tell: Tell) -> str:
        """Put back what topics had before."""
        return lift_fence(self._alias, self._journal, self._flow) or "no topic was closed"


def lift_fence(alias: str, journal: Journal, flow: FlowConfig) -> str:
    """Put back what the journal remembers of a cluster's topics, and forget it; says nothing if there is nothing."""
    known = journal.recall(fence_key(alias))
    if known is None:
        return ""
    fence = Fence.from_dict(known)
    cluster = flow.source if flow.source.alias == alias else flow.target
    with Admin(access_for(cluster, "admin")) as admin:
        ProducerFence(admin, fence.way).lift(fence)
    journal.remember(fence_key(alias), None)
    return f"{counted(len(fence.topics), 'topic')} of {alias} open to producers again"


def _partitions(admin: Admin, topics: list[str]) -> list[TopicPartition]:
    found = admin.topics(topics)
    return [TopicPartition(info.name, number) for info in found.values() for number in range(info.partitions)]
