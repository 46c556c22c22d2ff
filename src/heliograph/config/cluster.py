"""One cluster of the file, as clients see it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from heliograph.config.address import ROLES, client_options
from heliograph.config.problem import Problem, Severity
from heliograph.config.security import Security, SecurityCheck, StoreOpener, read_security
from heliograph.config.setting import ResolvedFile, Setting, default_setting, typed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from heliograph.config.option import Value
    from heliograph.config.properties import Entry

_BROKER: Final = re.compile(r"(?:[A-Za-z0-9_+.:/-]*//)?(?:\[[0-9A-Fa-f:.%]+\]|[^\s\[\]:/@]+):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True)
class ClientConfig:
    """All settings of one client, by Java's names, and its security."""

    settings: Mapping[str, Setting]
    security: Security


@dataclass(frozen=True)
class ClusterConfig:
    """A cluster: its alias, its brokers, and what consumers, producers and admin clients of it need."""

    alias: str
    bootstrap_servers: tuple[str, ...]
    clients: Mapping[str, ClientConfig]

    @property
    def security(self) -> Security:
        """The security of the cluster's admin client, which is that of all unless a role has its own."""
        return self.clients["admin"].security

    def client_settings(self, role: str) -> dict[str, Value]:
        """Every setting of a client (`consumer`, `producer` or `admin`), defaults included."""
        return {name: setting.value for name, setting in self.clients[role].settings.items()}


@dataclass(frozen=True)
class ClusterReading:
    """A cluster as far as it could be read, and what is wrong with it."""

    cluster: ClusterConfig
    problems: tuple[Problem, ...]


def read_cluster(
    alias: str, by_role: Mapping[str, Mapping[str, Entry]], source: ResolvedFile, opener: StoreOpener
) -> ClusterReading:
    """Read a cluster from the entries that count for each role of client."""
    settings = {role: _client(by_role[role], role, source) for role in ROLES}
    checks = {role: read_security(alias, settings[role], opener, source.file) for role in ROLES}
    bootstrap = settings["admin"]["bootstrap.servers"]
    servers = bootstrap.value if isinstance(bootstrap.value, tuple) else ()
    clients = {role: ClientConfig(settings[role], checks[role].security) for role in ROLES}
    problems = (*_check_servers(alias, servers, bootstrap, source.file), *_all_problems(checks))
    return ClusterReading(ClusterConfig(alias, servers, clients), problems)


def _client(entries: Mapping[str, Entry], role: str, source: ResolvedFile) -> dict[str, Setting]:
    given = client_options(role).keys() & entries.keys()
    return {**_defaults(role), **{name: typed(client_options(role)[name], entries[name], source) for name in given}}


@cache
def _defaults(role: str) -> Mapping[str, Setting]:
    """A client has a hundred options, of which a file gives few, and there are three clients to a cluster."""
    return {name: default_setting(option) for name, option in client_options(role).items()}


def _all_problems(checks: Mapping[str, SecurityCheck]) -> Iterator[Problem]:
    for check in checks.values():
        yield from check.problems


def _check_servers(alias: str, servers: tuple[str, ...], setting: Setting, file: str) -> Iterator[Problem]:
    origin = setting.origin
    key = origin.key or f"{alias}.bootstrap.servers"
    hint = f"write {alias}.bootstrap.servers = host:port, host:port"
    if not servers and setting.valid:
        yield Problem(Severity.ERROR, "is missing", hint, file, origin.line, key)
    for server in servers:
        match = _BROKER.fullmatch(server)
        if match is None or not 0 < int(match["port"]) <= 65535:
            shown = f"'{server}' is" if setting.text.find(server) >= 0 else "holds something that is"
            yield Problem(Severity.ERROR, f"{shown} not host:port", hint, file, origin.line, key)
