"""Every effective value of a configuration, in groups, with the line or variable it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.config.address import ROLES
from heliograph.config.option import Effect, Scope
from heliograph.config.setting import Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.config.mirror_config import MirrorConfig


@dataclass(frozen=True)
class Group:
    """Settings that belong together, such as those of one flow."""

    title: str
    settings: tuple[Setting, ...]


def explain(config: MirrorConfig) -> tuple[Group, ...]:
    """The whole file: what stands alone, each cluster, each flow."""
    groups = [Group("top level", _shown(config.settings.values()))]
    for cluster in config.clusters.values():
        groups.extend(_cluster_groups(f"cluster {cluster.alias}", cluster))
    groups.extend(Group(_flow_title(flow), _shown(flow.settings.values())) for flow in config.flows)
    groups.extend(Group(item.name, _shown(item.settings.values())) for item in config.conflicts)
    return tuple(groups)


def explain_flow(flow: FlowConfig) -> tuple[Group, ...]:
    """One flow, with both of its clusters as the flow sees them."""
    return (
        Group(_flow_title(flow), _shown(flow.settings.values())),
        *_cluster_groups(f"source {flow.source.alias}", flow.source),
        *_cluster_groups(f"target {flow.target.alias}", flow.target),
    )


def _flow_title(flow: FlowConfig) -> str:
    return f"flow {flow.name}" + (" (heartbeats only)" if flow.heartbeats_only else "")


def _cluster_groups(title: str, cluster: ClusterConfig) -> Iterator[Group]:
    """The settings that all clients of a cluster share, then what each role has of its own."""
    shared = _shared(cluster)
    yield Group(f"{title}, all clients", _shown(shared))
    for role in ROLES:
        own = (setting for setting in cluster.clients[role].settings.values() if setting not in shared)
        yield Group(f"{title}, {role}", _shown(own))


def _shared(cluster: ClusterConfig) -> list[Setting]:
    roles = [cluster.clients[role].settings for role in ROLES]
    return [
        setting
        for name, setting in roles[0].items()
        if setting.option and setting.option.scope is Scope.CLIENT and all(r.get(name) == setting for r in roles)
    ]


def _shown(settings: Iterable[Setting]) -> tuple[Setting, ...]:
    return tuple(setting for setting in settings if _is_worth_showing(setting))


def _is_worth_showing(setting: Setting) -> bool:
    acts = setting.option is None or setting.option.effect is Effect.ACTS
    return acts or setting.origin.is_given
