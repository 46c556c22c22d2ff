"""One flow A->B: which records go from where to where, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from heliograph.config import options
from heliograph.config.flow_check import check_flow, check_separator
from heliograph.config.option import FLOW_SCOPES, Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.setting import (
    ResolvedFile,
    Setting,
    derived_setting,
    revealed_text,
    typed,
    untyped,
)
from heliograph.config.transform_reading import TransformReader
from heliograph.policy import plugins
from heliograph.policy.same_names import SameNames, Way

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.option import Option, Value
    from heliograph.config.properties import Entry
    from heliograph.policy.filters import ConfigPropertyFilter, GroupFilter, TopicFilter
    from heliograph.policy.replication import ReplicationPolicy
    from heliograph.transforms.chain import ChainSpec

_Plugin = TypeVar("_Plugin")
_OPTIONS: Final = options.in_scopes((*FLOW_SCOPES, Scope.WORKER))


@dataclass(frozen=True)
class FlowConfig:
    """A flow with its settings, and the policy and filters they name."""

    source: ClusterConfig
    target: ClusterConfig
    settings: Mapping[str, Setting]
    replication_policy: ReplicationPolicy
    topic_filter: TopicFilter
    group_filter: GroupFilter
    config_property_filter: ConfigPropertyFilter
    transforms: ChainSpec
    same_names: SameNames = field(default_factory=SameNames, repr=False)  # of the whole file

    @property
    def name(self) -> str:
        """`A->B`."""
        return f"{self.source.alias}->{self.target.alias}"

    @property
    def enabled(self) -> bool:
        """Whether records are mirrored."""
        return self.get("enabled") is True

    @property
    def heartbeats_only(self) -> bool:
        """Whether the flow exists only to write heartbeats to its target."""
        return not self.enabled

    @property
    def way(self) -> Way:
        """From where to where."""
        return Way(self.source.alias, self.target.alias)

    @property
    def keeps_names(self) -> bool:
        """Whether topics have the same name on both sides."""
        return self.replication_policy.format_remote_topic(self.source.alias, "any") == "any"

    @property
    def provenance_header(self) -> str:
        """The header that names the cluster which records of other tools came from; empty if none counts."""
        return str(self.get("provenance.header") or "") if self.keeps_names else ""

    @property
    def sql(self) -> str:
        """The query that records pass through; empty if there is none."""
        return str(self.get("transform.sql") or "").strip()

    @property
    def changes_records(self) -> bool:
        """Whether records may arrive otherwise, elsewhere or not at all."""
        return self.transforms.is_active or bool(self.sql)

    def setting(self, name: str) -> Setting:
        """The setting of that name, with its origin; KeyError if there is no such option."""
        return self.settings[name]

    def get(self, name: str) -> Value:
        """The value of that name."""
        return self.setting(name).value

    def number(self, name: str) -> int:
        """The value of a setting that is a whole number."""
        value = self.get(name)
        assert isinstance(value, int)
        return value

    def family(self, prefix: str) -> dict[str, str]:
        """The settings below a free prefix such as `transforms.`, by what follows it."""
        return {
            name.removeprefix(prefix): revealed_text(setting.value)
            for name, setting in self.settings.items()
            if name.startswith(prefix) and setting.option is None
        }


@dataclass(frozen=True)
class FlowReading:
    """A flow, unless it cannot be used, and what is wrong with it."""

    flow: FlowConfig | None
    problems: tuple[Problem, ...]


def read_flow(
    clusters: tuple[ClusterConfig, ClusterConfig],
    connector: Mapping[str, Entry],
    worker: Mapping[str, Entry],
    source: ResolvedFile,
) -> FlowReading:
    """Read a flow from the entries that count for its connectors and its worker."""
    settings = _settings(clusters[0].alias, clusters[1].alias, connector, worker, source)
    separator_problems = tuple(check_separator(settings["replication.policy.separator"], source.file))
    if separator_problems:
        return FlowReading(None, separator_problems)
    loader = _PluginLoader(settings, _plugin_settings(clusters, settings, source), source)
    policy = loader.load("replication.policy.class", plugins.load_replication_policy)
    topics = loader.load("topic.filter.class", plugins.load_topic_filter)
    groups = loader.load("group.filter.class", plugins.load_group_filter)
    properties = loader.load("config.property.filter.class", plugins.load_config_property_filter)
    if not (policy and topics and groups and properties):
        return FlowReading(None, tuple(loader.problems))
    reader = TransformReader(settings, source.file)
    flow = FlowConfig(*clusters, settings, policy, topics, groups, properties, reader.read())
    return FlowReading(flow, (*reader.problems, *check_flow(flow, source.file)))


def _settings(
    source_alias: str,
    target_alias: str,
    connector: Mapping[str, Entry],
    worker: Mapping[str, Entry],
    source: ResolvedFile,
) -> dict[str, Setting]:
    derived: dict[str, Value] = {
        "client.id": f"{source_alias}->{target_alias}",
        "group.id": f"{source_alias}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source_alias}.internal",
        "status.storage.topic": f"mm2-status.{source_alias}.internal",
        "config.storage.topic": f"mm2-configs.{source_alias}.internal",
        "source.cluster.alias": source_alias,
        "target.cluster.alias": target_alias,
    }
    settings: dict[str, Setting] = {}
    for name, option in _OPTIONS.items():
        if option.replaced_by:
            continue
        entry = _entry(option, connector, worker)
        settings[name] = typed(option, entry, source)
        if name in derived and (entry is None or name.endswith("cluster.alias")):
            settings[name] = derived_setting(option, derived[name])
    return settings | {
        name: untyped(name, entry, source)
        for entries, scopes in ((worker, (Scope.WORKER,)), (connector, FLOW_SCOPES))
        for name, entry in entries.items()
        if name not in _OPTIONS and options.find_family(name, scopes)
    }


def _entry(option: Option, connector: Mapping[str, Entry], worker: Mapping[str, Entry]) -> Entry | None:
    return (worker if option.scope is Scope.WORKER else connector).get(option.name)


def _plugin_settings(
    clusters: tuple[ClusterConfig, ClusterConfig], settings: Mapping[str, Setting], source: ResolvedFile
) -> dict[str, str]:
    texts = {name: revealed_text(setting.value) for name, setting in settings.items() if setting.value is not None}
    aliases = source.entries.get("clusters")
    return texts | {"clusters": source.text(aliases) if aliases else ", ".join(c.alias for c in clusters)}


class _PluginLoader:
    """Loads the classes that a flow names, and collects why one cannot be."""

    def __init__(self, settings: Mapping[str, Setting], texts: Mapping[str, str], source: ResolvedFile) -> None:
        self._settings = settings
        self._texts = texts
        self._source = source
        self.problems: list[Problem] = []

    def load(self, name: str, loader: Callable[[str, Mapping[str, str]], _Plugin]) -> _Plugin | None:
        try:
            return loader(self._texts[name], self._texts)
        except plugins.PluginError as error:
            origin = self._settings[name].origin
            key = origin.key or name
            self.problems.append(Problem(Severity.ERROR, str(error), "", self._source.file, origin.line, key))
            return None
