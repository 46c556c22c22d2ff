"""Detection of conflicts on one cluster: in which topics, and how they are settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.own_topics import OwnTopics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.config.option import Value
    from heliograph.config.setting import Setting
    from heliograph.conflicts.resolvers.resolver import Resolver


@dataclass(frozen=True)
class ConflictConfig:
    """What is looked for on a cluster, among its own records and those that flows bring there."""

    cluster: ClusterConfig
    settings: Mapping[str, Setting]
    texts: Mapping[str, str]  # for the rule, which may be a class of the user's
    flows: tuple[FlowConfig, ...]  # which bring records to the cluster
    aliases: tuple[str, ...]  # of all clusters in the file

    @property
    def name(self) -> str:
        """What it is called in logs."""
        return f"conflicts on {self.cluster.alias}"

    @property
    def topics(self) -> tuple[str, ...]:
        """Patterns of the logical topics."""
        value = self.get("conflicts.topics")
        assert isinstance(value, tuple)
        return value

    @property
    def bounds(self) -> Bounds:
        """How far apart records still conflict."""
        return Bounds(self.window_ms)

    @property
    def window_ms(self) -> int:
        """How far apart records still conflict."""
        return self.number("conflicts.window.ms")

    @property
    def resolver(self) -> str:
        """The name of the rule."""
        return str(self.get("conflicts.resolver"))

    @property
    def output(self) -> str:
        """The pattern of the name of topics with the view; empty if there is none."""
        return str(self.get("conflicts.output") or "")

    def get(self, name: str) -> Value:
        """The value of a setting."""
        return self.settings[name].value

    def number(self, name: str) -> int:
        """The value of a setting that is a whole number."""
        value = self.get(name)
        assert isinstance(value, int)
        return value

    def made_resolver(self) -> Resolver:
        """The rule itself; PluginError says what is wrong with its settings."""
        from heliograph.conflicts.resolvers.catalogue import make_resolver  # most files need none of them

        return make_resolver(self.texts)

    @property
    def own_topics(self) -> OwnTopics:
        """The topics that detection reads and writes."""
        return OwnTopics(self.topics, self.output)
