"""The steps from the entries of a file to the detection of conflicts on each cluster, collecting every problem."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.conflict_config import ConflictConfig
from heliograph.config.option import Scope
from heliograph.config.problem import Problem, Severity
from heliograph.config.setting import Setting, revealed_text, typed, untyped
from heliograph.conflicts.own_topics import PLACEHOLDER, OwnTopics, WithoutOwnTopics
from heliograph.policy.plugins import PluginError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heliograph.config.cluster import ClusterConfig
    from heliograph.config.flow import FlowConfig
    from heliograph.config.option import Option
    from heliograph.config.properties import Entry
    from heliograph.config.setting import ResolvedFile

_OPTIONS: Final = options.in_scopes((Scope.CONFLICTS,))
_TOPICS: Final = "conflicts.topics"
_OUTPUT: Final = "conflicts.output"
_RESOLVER: Final = "conflicts.resolver"
_PREFERRED: Final = "conflicts.prefer.clusters"
_LEGAL_OUTPUT: Final = re.compile(r"(?:[A-Za-z0-9._-]|\{topic\})+")
_PLAIN_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]+")


class ConflictReader:
    """Reads what the file says about conflicts; after that, `problems` tells what is wrong with it."""

    def __init__(self, source: ResolvedFile, aliases: Sequence[str]) -> None:
        self._source = source
        self._aliases = tuple(aliases)
        self.problems: list[Problem] = []

    def without_own_topics(self, flow: FlowConfig) -> FlowConfig:
        """The flow as it is if it leaves out what detection writes on its source, whichever process does that."""
        settings = self._settings(flow.source.alias)
        topics = settings[_TOPICS].value
        if not isinstance(topics, tuple) or not topics:
            return flow
        own = OwnTopics(topics, str(settings[_OUTPUT].value))
        return replace(flow, topic_filter=WithoutOwnTopics(flow.topic_filter, own))

    def read(self, clusters: Iterable[ClusterConfig], flows: Sequence[FlowConfig]) -> tuple[ConflictConfig, ...]:
        """One configuration for each of the clusters on which conflicts are looked for, if these flows go there."""
        found = [self._read(cluster, _bringing(cluster, flows)) for cluster in clusters]
        return tuple(config for config in found if config is not None)

    def _read(self, cluster: ClusterConfig, flows: Sequence[FlowConfig]) -> ConflictConfig | None:
        settings = self._settings(cluster.alias)
        if not settings[_TOPICS].value:
            return None
        if not flows:
            if settings[_TOPICS].origin.key == f"{cluster.alias}.{_TOPICS}" and not self._flows_to(cluster.alias):
                hint = f"enable a flow to {cluster.alias}, or drop it"
                self._report(Severity.WARNING, settings[_TOPICS], f"no flow brings records to {cluster.alias}", hint)
            return None
        texts = {name: revealed_text(s.value) for name, s in settings.items() if s.value is not None}
        config = ConflictConfig(cluster, settings, texts, tuple(flows), self._aliases)
        self._check(config)
        return config

    def _flows_to(self, target: str) -> list[str]:
        """All flows of the file that bring records to a cluster."""
        names = [f"{alias}->{target}" for alias in self._aliases if alias != target]
        return [name for name in names if self._is_enabled(name)]

    def _is_enabled(self, flow: str) -> bool:
        entry = self._source.entries.get(f"{flow}.enabled")
        return entry is not None and self._source.text(entry).strip().lower() == "true"

    def _settings(self, target: str) -> dict[str, Setting]:
        """What counts for a cluster: keys of flows to it, then its own, then those of all."""
        settings = {name: typed(option, self._entry(name, target), self._source) for name, option in _OPTIONS.items()}
        for name, option in _OPTIONS.items():
            if found := self._of_flows(name, option, target):
                settings[name] = _joined(found) if name == _TOPICS else found[0]
        return settings | self._free_settings(target)

    def _entry(self, name: str, target: str) -> Entry | None:
        entries = self._source.entries
        return entries.get(f"{target}.{name}") or entries.get(name)

    def _free_settings(self, target: str) -> dict[str, Setting]:
        """Those for a class of the user's."""
        names: dict[str, Entry] = {}
        for prefix in ("", f"{target}.", *(f"{flow}." for flow in reversed(self._flows_to(target)))):
            for key, entry in self._source.entries.items():
                if key.startswith(f"{prefix}{_RESOLVER}."):
                    names[key.removeprefix(prefix)] = entry
        return {name: untyped(name, entry, self._source) for name, entry in names.items()}

    def _of_flows(self, name: str, option: Option | None, target: str) -> list[Setting]:
        given = [entry for flow in self._flows_to(target) if (entry := self._source.entries.get(f"{flow}.{name}"))]
        return [typed(option, entry, self._source) if option else untyped(name, entry, self._source) for entry in given]

    def _check_agreement(self, config: ConflictConfig) -> None:
        target = config.cluster.alias
        for name, setting in config.settings.items():
            found = self._of_flows(name, setting.option, target)
            for other in found[1:]:
                if name != _TOPICS and found[0].value != other.value:
                    first = found[0].origin
                    place = first.variable or f"line {first.line}"
                    where = f"{place} says {found[0].text}, and both count for {target}"
                    self._report(Severity.ERROR, other, where, f"write {target}.{name} instead of both")

    def _check(self, config: ConflictConfig) -> None:
        settings = config.settings
        self._check_agreement(config)
        try:
            config.made_resolver()
        except PluginError as error:
            self._report(Severity.ERROR, settings[_RESOLVER], str(error).removeprefix(f"{_RESOLVER}: "))
        preferred = settings[_PREFERRED]
        for alias in preferred.value if isinstance(preferred.value, tuple) else ():
            if alias not in self._aliases:
                hint = f"clusters are {', '.join(self._aliases)}"
                self._report(Severity.ERROR, preferred, f"the cluster {alias} is not in clusters", hint)
        self._check_output(config)

    def _check_output(self, config: ConflictConfig) -> None:
        output, setting = config.output, config.settings[_OUTPUT]
        if not output:
            return
        is_single = len(config.topics) == 1 and bool(_PLAIN_TOPIC.fullmatch(config.topics[0]))
        if not _LEGAL_OUTPUT.fullmatch(output):
            self._report(Severity.ERROR, setting, f"'{output}' cannot be a topic", "write for example {topic}.resolved")
        elif PLACEHOLDER not in output and not is_single:
            self._report(
                Severity.ERROR, setting, "the views of several topics cannot share one", "write {topic}.resolved"
            )
        elif output == PLACEHOLDER or (PLACEHOLDER not in output and config.own_topics.covers(output)):
            self._report(
                Severity.ERROR, setting, "the view cannot be written to the topic itself", "write {topic}.resolved"
            )

    def _report(self, severity: Severity, setting: Setting, message: str, hint: str = "") -> None:
        origin = setting.origin
        self.problems.append(
            Problem(severity, message, hint, self._source.file, origin.line, origin.key or setting.name)
        )


def _bringing(cluster: ClusterConfig, flows: Sequence[FlowConfig]) -> list[FlowConfig]:
    """The flows that bring records to a cluster."""
    return [flow for flow in flows if flow.target.alias == cluster.alias and flow.enabled]


def _joined(settings: Sequence[Setting]) -> Setting:
    """All topics that any of the flows names."""
    values = [setting.value for setting in settings if isinstance(setting.value, tuple)]
    patterns = tuple(dict.fromkeys(pattern for value in values for pattern in value))
    first = settings[0]
    return Setting(first.name, first.option, patterns, ", ".join(patterns), first.origin)
