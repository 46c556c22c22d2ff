"""What the engine must know to look for conflicts on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from heliograph.conflicts import own_topics
from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.own_topics import progress_topic
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.settings import NEVER
from heliograph.kafka.access import Access
from heliograph.model import TopicPartition


@dataclass(frozen=True)
class DetectionSettings:
    """Detection on one cluster; travels in part to Spark's tasks."""

    alias: str
    access: Access
    bounds: Bounds
    make_resolver: Callable[[], Resolver]  # is pickled
    lateness_ms: int
    wait_max_ms: int
    start: int  # where topics that were never looked at begin
    tasks: int

    @property
    def name(self) -> str:
        """What it is called in logs."""
        return f"conflicts on {self.alias}"

    @property
    def max_lanes(self) -> int:
        """How many tasks of Spark run at once."""
        return self.tasks

    @property
    def refresh_seconds(self) -> float:
        """New topics are looked for with every plan."""
        return NEVER

    @property
    def progress_topic(self) -> str:
        """Where it is written down how far detection is."""
        return progress_topic(self.alias)

    @property
    def id_prefix(self) -> str:
        """What the transactional ids of all tasks begin with."""
        return own_topics.transactional_id_prefix(self.alias)


@dataclass(frozen=True)
class Brought:
    """What the flows to a cluster have brought: all of a time before this one, to these partitions."""

    until_ms: int
    partitions: frozenset[TopicPartition] = frozenset()


class Surroundings(Protocol):
    """What detection must know of topics and flows."""

    def look(self) -> Scope:
        """The topics in which conflicts are looked for, after all that is missing for that was created."""

    def brought(self) -> Brought:
        """How far the flows that bring records to these topics are."""

    def hang_up(self) -> None:
        """Close connections; the next look makes new ones."""
