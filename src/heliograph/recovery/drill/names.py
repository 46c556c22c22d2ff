"""The names of all that a drill creates: none of them can be taken for anything of production's."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from heliograph.model import TopicPartition

PARTITIONS = 3
_TOPICS = 2


@dataclass(frozen=True)
class DrillNames:
    """Everything has the drill's mark in its name, so that it can be found and deleted by it.

    Topics end in `.replica`, which MirrorMaker 2 and Heliograph leave out unless `topics.exclude` is set: the flows of
    production, also those of other files, do not carry them on.
    """

    id: str
    source: str  # the aliases of production
    target: str
    group_count: int

    @classmethod
    def fresh(cls, source: str, target: str, group_count: int) -> DrillNames:
        """Names that no other drill has."""
        return cls(secrets.token_hex(4), source, target, group_count)

    @property
    def mark(self) -> str:
        """What all names contain."""
        return f"drill-{self.id}"

    @property
    def source_alias(self) -> str:
        """What the drill calls the source."""
        return f"{self.source}-{self.mark}"

    @property
    def target_alias(self) -> str:
        """What the drill calls the target."""
        return f"{self.target}-{self.mark}"

    @property
    def flow(self) -> str:
        """The drill's own flow."""
        return f"{self.source_alias}->{self.target_alias}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The canary topics."""
        return tuple(f"heliograph-{self.mark}-{number}.replica" for number in range(_TOPICS))

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """All partitions of the canary topics."""
        return tuple(TopicPartition(topic, number) for topic in self.topics for number in range(PARTITIONS))

    @property
    def groups(self) -> tuple[str, ...]:
        """The canary groups."""
        return tuple(f"heliograph-{self.mark}-{number:02d}" for number in range(self.group_count))

    def ours(self, names: Iterable[str]) -> list[str]:
        """Those names that belong to this drill."""
        return sorted(name for name in names if self.mark in name)
