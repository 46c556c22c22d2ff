"""How a whole mirror stands at one moment."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version

from heliograph import __version__
from heliograph.control.connector import Connector, RunState
from heliograph.control.metrics.conflict_view import ConflictsView, TopicConflicts, conflict_views
from heliograph.control.metrics.flow_view import ChoreView, ConnectorView, FlowLooker, FlowView
from heliograph.control.metrics.partition_view import CountView, PartitionView
from heliograph.control.metrics.slow_facts import Certificate, SlowFacts
from heliograph.control.running_flow import FlowHealth
from heliograph.control.running_mirror import RunningMirror
from heliograph.model import EventKind


@dataclass(frozen=True)
class MirrorView:
    """All flows, and what is about none of them."""

    flows: Sequence[FlowView]
    certificates: Sequence[Certificate]
    is_ready: bool
    page_seconds: float  # that making the page before this one took
    conflicts: Sequence[ConflictsView] = ()

    @cached_property
    def mirrored(self) -> list[FlowView]:
        """The flows that mirror records."""
        return [view for view in self.flows if view.flow.driver is not None]

    @property
    def partitions(self) -> Iterator[PartitionView]:
        """The partitions of all flows."""
        return (item for view in self.flows for item in view.partitions)

    @property
    def counts(self) -> Iterator[CountView]:
        """The counters of all flows."""
        return (item for view in self.mirrored for item in view.counts)

    @property
    def chores(self) -> Iterator[ChoreView]:
        """The chores of all flows."""
        return (item for view in self.flows for item in view.chores)

    @property
    def connectors(self) -> Iterator[ConnectorView]:
        """The connectors of all flows."""
        return (item for view in self.flows for item in view.connectors)

    @property
    def connector_states(self) -> Iterator[tuple[ConnectorView, RunState]]:
        """Each connector with each state that it could be in."""
        return ((item, state) for item in self.connectors for state in RunState)

    @property
    def healths(self) -> Iterator[tuple[FlowView, FlowHealth]]:
        """Each flow with each state of health."""
        return ((view, health) for view in self.flows for health in FlowHealth)

    @property
    def events(self) -> Iterator[tuple[FlowView, EventKind]]:
        """Each flow with each kind of event."""
        return ((view, kind) for view in self.mirrored for kind in EventKind)

    @property
    def conflict_topics(self) -> Iterator[TopicConflicts]:
        """The topics of all clusters in which there were conflicts."""
        return (item for view in self.conflicts for item in view.topics)

    @property
    def task_count(self) -> int:
        """The tasks of all connectors."""
        return sum(item.tasks for item in self.connectors)

    @property
    def connector_count(self) -> int:
        """All connectors."""
        return sum(1 for _ in self.connectors)

    @property
    def failed_starts(self) -> int:
        """How often flows had to begin again after a failure."""
        return sum(view.flow.driver.restarts for view in self.mirrored if view.flow.driver)

    @property
    def starts(self) -> int:
        """How often connectors began, again or for the first time."""
        return self.connector_count + self.failed_starts


def versions() -> Mapping[str, str]:
    """Of what this is built."""
    return {"version": __version__, "python": platform.python_version(), "spark": version("pyspark")}


class MirrorLooker:
    """Looks at all flows of a mirror again and again."""

    def __init__(self, mirror: RunningMirror) -> None:
        self._mirror = mirror
        self._facts = SlowFacts(mirror)
        self._flows = [(flow, FlowLooker(flow)) for flow in mirror.flows.values()]

    def look(self, most: int, page_seconds: float) -> MirrorView:
        """How the mirror stands now; at most so many partitions of each flow on their own."""
        facts = self._facts
        facts.refresh()
        flows = [
            looker.look(facts.retention(flow), facts.seconds_since_read(flow), most) for flow, looker in self._flows
        ]
        conflicts = conflict_views(self._mirror.conflicts, most, int(time.time() * 1000))
        return MirrorView(flows, facts.certificates(), self._mirror.is_ready, page_seconds, conflicts)


def heartbeats(view: MirrorView) -> Iterator[ChoreView]:
    """The chores that write heartbeats."""
    return (item for item in view.chores if item.report.connector is Connector.HEARTBEAT)
