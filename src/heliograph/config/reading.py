"""The steps from the entries of a file to clusters and flows, collecting every problem on the way."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Final

from heliograph.config import resolution
from heliograph.config.address import ROLES, Address, locate
from heliograph.config.cluster import ClusterConfig, read_cluster
from heliograph.config.flow import FlowConfig, read_flow
from heliograph.config.inspection import Inspector
from heliograph.config.problem import Problem, Severity
from heliograph.config.providers import Provider, ProviderError, build_providers, references, resolve
from heliograph.config.same_names_check import check_same_names
from heliograph.config.secret import Secret
from heliograph.config.security import StoreOpener
from heliograph.config.setting import ResolvedFile
from heliograph.config.value import split_list, trim
from heliograph.policy.same_names import SameNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heliograph.config.properties import Entry, PropertiesFile

_LEGAL_ALIAS: Final = re.compile(r"[A-Za-z0-9._-]+")
_ENABLES: Final = re.compile(r".*->.*\.enabled", re.DOTALL)
_PROVIDERS: Final = "config.providers"


class Reading:
    """Reads one file. After `read`, the other attributes hold what could be made of it."""

    def __init__(self, file: PropertiesFile, environment: Mapping[str, str], targets: Sequence[str] | None) -> None:
        self._file = file
        self._environment = environment
        self._targets = targets
        self._opener = StoreOpener()
        self.source = ResolvedFile(file.file, file.entries, {})
        self.clusters: dict[str, ClusterConfig] = {}
        self.flows: list[FlowConfig] = []
        self.others: list[FlowConfig] = []  # back from the chosen targets
        self.secrets: list[Secret] = []

    def read(self) -> Iterator[Problem]:
        """Read everything, and tell what is wrong or doubtful."""
        yield from self._file.problems
        clusters = self._file.entries.get("clusters")
        aliases = tuple(dict.fromkeys(alias for alias in split_list(clusters.value) if alias)) if clusters else ()
        yield from self._check_aliases(clusters, aliases)
        if not aliases:
            return
        addresses = {key: locate(key, aliases) for key in self._file.entries}
        texts = _Texts(self._file, self._environment)
        yield from texts.resolve(addresses)
        self.secrets = texts.secrets
        yield from Inspector(self._file.file, aliases).inspect(self._file.entries, texts.by_key)
        entries = resolution.with_new_names(self._file.entries, addresses)
        self.source = ResolvedFile(self._file.file, entries, texts.by_key)
        yield from self._read_clusters(aliases)
        yield from self._read_flows(aliases)

    def _problem(self, severity: Severity, message: str, hint: str = "", entry: Entry | None = None) -> Problem:
        line, key = (entry.line, entry.key) if entry else (None, "")
        return Problem(severity, message, hint, self._file.file, line, key)

    def _check_aliases(self, entry: Entry | None, aliases: Sequence[str]) -> Iterator[Problem]:
        if not aliases or entry is None:
            yield Problem(
                Severity.ERROR,
                "names no clusters" if entry else "is missing, so that this is not a whole mm2.properties file",
                "write clusters = A, B and A.bootstrap.servers, B.bootstrap.servers, A->B.enabled = true",
                self._file.file,
                entry.line if entry else None,
                "clusters",
            )
            return
        listed = split_list(entry.value)
        for alias in aliases:
            if listed.count(alias) > 1:
                yield self._problem(
                    Severity.ERROR,
                    f"lists {alias} {listed.count(alias)} times",
                    "list each cluster once",
                    entry,
                )
            if not _LEGAL_ALIAS.fullmatch(alias):
                yield self._problem(
                    Severity.WARNING,
                    f"the alias {alias} holds characters that cannot stand in topic names",
                    "use letters, digits, dot, underscore and hyphen",
                    entry,
                )

    def _read_clusters(self, aliases: Sequence[str]) -> Iterator[Problem]:
        entries = self.source.entries
        for alias in aliases:
            by_role = {role: resolution.cluster_client_settings(entries, alias, role) for role in ROLES}
            found = read_cluster(alias, by_role, self.source, self._opener)
            self.clusters[alias] = found.cluster
            yield from found.problems
        for one, other in combinations(self.clusters.values(), 2):
            if one.bootstrap_servers and set(one.bootstrap_servers) & set(other.bootstrap_servers):
                yield self._problem(
                    Severity.WARNING,
                    f"the clusters {one.alias} and {other.alias} share a broker, so they are one cluster",
                    "check their bootstrap.servers",
                )

    def _read_flows(self, aliases: Sequence[str]) -> Iterator[Problem]:
        strangers = [target for target in self._targets or () if target not in aliases]
        if strangers:
            yield self._problem(
                Severity.ERROR,
                f"--clusters: {', '.join(strangers)} is not in clusters",
                f"clusters are {', '.join(aliases)}",
            )
            return
        pairs = [pair for pair in permutations(aliases, 2) if self._is_wanted(*pair)]
        for source, target in pairs:
            yield from self._read_flow(source, target, self.flows)
        for target, source in pairs:
            if (source, target) not in pairs and self._is_enabled(source, target):
                list(self._read_flow(source, target, self.others))  # whoever runs it is told of its problems
        yield from self._settle_same_names(aliases)
        if not pairs:
            yield self._problem(
                Severity.ERROR,
                "no flow is enabled" + (" to the asked clusters" if self._targets else ""),
                f"write {aliases[0]}->{aliases[-1]}.enabled = true",
            )
        elif not (self._targets or self._asks_for_a_flow() or any(flow.enabled for flow in self.flows)):
            yield self._problem(
                Severity.WARNING,
                "no flow is enabled, so that only heartbeats are written",
                f"write {aliases[0]}->{aliases[-1]}.enabled = true",
            )

    def _settle_same_names(self, aliases: Sequence[str]) -> Iterator[Problem]:
        """Tell every flow which others of the file keep topic names, whichever process runs them."""
        read = {flow.name: flow for flow in (*self.flows, *self.others)}
        elsewhere: list[FlowConfig] = []
        for source, target in permutations(aliases, 2):
            if f"{source}->{target}" not in read and self._is_enabled(source, target):
                list(self._read_flow(source, target, elsewhere))
        every = [*read.values(), *elsewhere]
        keeping = ((flow.way, flow.topic_filter) for flow in every if flow.enabled and flow.keeps_names)
        same_names = SameNames(tuple(keeping))
        self.flows = [replace(flow, same_names=same_names) for flow in self.flows]
        self.others = [replace(flow, same_names=same_names) for flow in self.others]
        yield from check_same_names(every, self._file.file)

    def _is_wanted(self, source: str, target: str) -> bool:
        if self._targets and target not in self._targets:
            return False
        return self._is_enabled(source, target) or self._has_heartbeats(source, target)

    def _asks_for_a_flow(self) -> bool:
        """Whether any line tries to enable a flow, be it in vain (which is reported where it stands)."""
        values = (entry.value for key, entry in self.source.entries.items() if _ENABLES.fullmatch(key))
        return any(trim(value).lower() != "false" for value in values)

    def _is_enabled(self, source: str, target: str) -> bool:
        return self._flag(f"{source}->{target}.enabled", default=False)

    def _has_heartbeats(self, source: str, target: str) -> bool:
        shared = self._flag("emit.heartbeats.enabled", default=True)
        return self._flag(f"{source}->{target}.emit.heartbeats.enabled", default=shared)

    def _flag(self, key: str, default: bool) -> bool:
        entry = self.source.entries.get(key)
        return trim(self.source.text(entry)).lower() == "true" if entry else default

    def _read_flow(self, source: str, target: str, flows: list[FlowConfig]) -> Iterator[Problem]:
        entries = self.source.entries
        connector = resolution.connector_settings(entries, source, target)
        worker = resolution.worker_settings(entries, source, target)
        clusters: list[ClusterConfig] = []
        for side, alias in (("source", source), ("target", target)):
            by_role = {role: resolution.client_settings(connector, side, role) for role in ROLES}
            found = read_cluster(alias, by_role, self.source, self._opener)
            clusters.append(found.cluster)
            yield from found.problems
        reading = read_flow((clusters[0], clusters[1]), connector, worker, self.source)
        yield from reading.problems
        if reading.flow:
            flows.append(reading.flow)


class _Texts:
    """Puts the values that providers keep in the place of references."""

    def __init__(self, file: PropertiesFile, environment: Mapping[str, str]) -> None:
        self._file = file
        self._environment = environment
        self.by_key: dict[str, str] = {}
        self.secrets: list[Secret] = []

    def resolve(self, addresses: Mapping[str, Address]) -> Iterator[Problem]:
        """Fill `by_key` with the text of every known key that could be resolved."""
        entries = self._file.entries
        declarations = {key: entry.value for key, entry in entries.items() if key.startswith(_PROVIDERS)}
        providers, problems = build_providers(declarations, self._environment)
        for problem in problems:
            line = entries[problem.key].line if problem.key in entries else self._line_of_names()
            yield Problem(Severity.ERROR, problem.message, problem.hint, self._file.file, line, problem.key)
        broken = {problem.key.split(".")[2] for problem in problems if problem.key.count(".") > 2}
        for key, entry in entries.items():
            if addresses[key].known:
                yield from self._resolve(entry, providers, broken)

    def _line_of_names(self) -> int | None:
        names = self._file.entries.get(_PROVIDERS)
        return names.line if names else None

    def _resolve(self, entry: Entry, providers: Mapping[str, Provider], broken: Iterable[str]) -> Iterator[Problem]:
        used = [] if entry.key.startswith(_PROVIDERS) else references(entry.value)
        if any(reference.provider in broken for reference in used):
            return
        try:
            self.by_key[entry.key] = resolve(entry.value, providers) if used else entry.value
        except ProviderError as error:
            yield Problem(Severity.ERROR, str(error), "", self._file.file, entry.line, entry.key)
            return
        self.secrets += [Secret(resolve(reference.text, providers)) for reference in used]
        for name in dict.fromkeys(reference.provider for reference in used):
            if not providers[name].declared:
                yield Problem(
                    Severity.NOTE,
                    f"uses the provider {name}, which MirrorMaker 2 only knows if it is declared",
                    f"honoured; for MirrorMaker 2 add {_PROVIDERS} = {name} and {_PROVIDERS}.{name}.class",
                    self._file.file,
                    entry.line,
                    entry.key,
                )
