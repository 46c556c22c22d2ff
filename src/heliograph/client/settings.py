"""The settings of a client, as a Java program would have them in its properties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from heliograph.config.address import ROLES
from heliograph.config.cluster import ClusterConfig, read_cluster
from heliograph.config.flow_check import check_separator
from heliograph.config.inspection import Inspector
from heliograph.config.option import Scope
from heliograph.config.options import find
from heliograph.config.problem import Problem, Severity
from heliograph.config.properties import Entry
from heliograph.config.providers import ProviderError, build_providers, resolve
from heliograph.config.security import StoreOpener
from heliograph.config.setting import ResolvedFile, revealed_text, typed
from heliograph.errors import ConfigError
from heliograph.kafka.access import Access, access_for
from heliograph.policy import plugins
from heliograph.policy.replication import SEPARATOR_KEY, ReplicationPolicy

_ALIAS: Final = "MirrorClient"
_POLICY_KEY: Final = "replication.policy.class"
_PROVIDERS: Final = "config.providers"


@dataclass(frozen=True)
class ClientSettings:
    """How a client reaches its cluster, to ask and to read, and by which rules it understands names."""

    admin: Access
    consumer: Access
    replication_policy: ReplicationPolicy


def read_settings(settings: Mapping[str, str]) -> ClientSettings:
    """Read the properties of a Java client; ConfigError names everything that is wrong."""
    reader = _Reader(settings)
    cluster, policy = reader.cluster(), reader.policy()
    if reader.problems or policy is None:
        raise ConfigError(list(dict.fromkeys(reader.problems)))
    return ClientSettings(access_for(cluster, "admin"), access_for(cluster, "consumer"), policy)


class _Reader:
    """Collects problems while it reads, so that one does not hide the next."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.problems: list[Problem] = []
        self._entries = {key: Entry(key, value, 0) for key, value in settings.items()}
        self._texts = dict(self._resolved(settings))
        self._source = ResolvedFile("", self._entries, self._texts)
        self._report(Inspector("", ()).inspect(self._entries, self._texts))

    def cluster(self) -> ClusterConfig:
        """The cluster that the settings lead to; what is prefixed with a role counts for that role alone."""
        by_role = {role: self._entries | _stripped(self._entries, f"{role}.") for role in ROLES}
        reading = read_cluster(_ALIAS, by_role, self._source, StoreOpener())
        self._report(reading.problems)
        return reading.cluster

    def policy(self) -> ReplicationPolicy | None:
        """The replication policy that the settings name."""
        separator = find(SEPARATOR_KEY, (Scope.CONNECTOR,))
        policy_class = find(_POLICY_KEY, (Scope.CONNECTOR,))
        assert separator is not None
        assert policy_class is not None
        faults = list(check_separator(typed(separator, self._entries.get(SEPARATOR_KEY), self._source), ""))
        if faults:
            self._report(faults)
            return None
        name = revealed_text(typed(policy_class, self._entries.get(_POLICY_KEY), self._source).value)
        try:
            return plugins.load_replication_policy(name, self._texts)
        except plugins.PluginError as error:
            self._report([Problem(Severity.ERROR, str(error), key=_POLICY_KEY)])
            return None

    def _resolved(self, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        providers, faults = build_providers(settings)
        self._report(Problem(Severity.ERROR, fault.message, fault.hint, key=fault.key) for fault in faults)
        for key, value in settings.items():
            try:
                yield key, value if key.startswith(_PROVIDERS) else resolve(value, providers)
            except ProviderError as error:
                self._report([Problem(Severity.ERROR, str(error), key=key)])

    def _report(self, problems: Iterable[Problem]) -> None:
        errors = (problem for problem in problems if problem.severity is Severity.ERROR)
        self.problems += [_without_alias(problem) for problem in errors]


def _stripped(entries: Mapping[str, Entry], prefix: str) -> dict[str, Entry]:
    return {key.removeprefix(prefix): entry for key, entry in entries.items() if key.startswith(prefix)}


def _without_alias(problem: Problem) -> Problem:
    """The problem in the words of a client, whose keys stand behind no alias."""
    prefix = f"{_ALIAS}."
    return replace(problem, key=problem.key.removeprefix(prefix), hint=problem.hint.replace(prefix, ""))
