"""Where a key of the file stands, and which option it therefore means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from heliograph.config import options
from heliograph.config.option import FLOW_SCOPES, Family, Option, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROLES: Final = ("consumer", "producer", "admin")
_ROLE_SCOPES: Final = {role: (Scope.CLIENT, Scope(role)) for role in ROLES}
_CLIENT_KEY: Final = re.compile(
    r"(?:(?P<side>source|target)\.)?(?:(?P<role>consumer|producer|admin)\.(?P<over>override\.)?|cluster\.)(?P<name>.+)",
    re.DOTALL,
)


class Place(Enum):
    """The three levels of an mm2.properties file."""

    TOP = "top level"
    CLUSTER = "cluster"
    FLOW = "flow"


_SCOPES: Final = {
    Place.TOP: (Scope.DRIVER, Scope.REST, *FLOW_SCOPES, Scope.CONFLICTS, Scope.WORKER, Scope.CLIENT),
    Place.CLUSTER: (Scope.CLIENT, Scope.WORKER, Scope.CONFLICTS),
    Place.FLOW: (*FLOW_SCOPES, Scope.CONFLICTS, Scope.WORKER),
}


@dataclass(frozen=True)
class ClientKey:
    """The client part of a name such as `source.consumer.client.rack`."""

    side: str
    role: str
    override: bool
    name: str


@dataclass(frozen=True)
class Address:
    """A key taken apart: its prefix, what follows it, and the option or family that this names."""

    place: Place
    prefix: str
    clusters: tuple[str, ...]
    name: str
    option: Option | None = None
    family: Family | None = None
    client: ClientKey | None = None

    @property
    def known(self) -> bool:
        """Whether the key means something where it stands."""
        return self.option is not None or self.family is not None


def locate(key: str, aliases: Sequence[str]) -> Address:
    """Take a key apart. A flow's key keeps its aliases even where they are not declared."""
    if "->" in key:
        return _in_flow(key, aliases)
    if options.find(key, _SCOPES[Place.TOP]) is None:
        for alias in sorted(aliases, key=len, reverse=True):
            if key.startswith(f"{alias}."):
                return _named(Place.CLUSTER, f"{alias}.", (alias,), key[len(alias) + 1 :])
    return _named(Place.TOP, "", (), key)


def names_at(place: Place) -> list[str]:
    """All option names that may follow the prefix of a level, for suggestions."""
    names = list(options.in_scopes(_SCOPES[place]))
    roles = (f"{role}.{name}" for role in ROLES for name in options.in_scopes(_ROLE_SCOPES[role]))
    return [*names, *roles]


def client_options(role: str) -> Mapping[str, Option]:
    """All options of a client in that role."""
    return options.in_scopes(_ROLE_SCOPES[role])


def client_key(name: str) -> ClientKey | None:
    """The parts of `[source.|target.]<role>.[override.]<name>` or `<side>.cluster.<name>`."""
    match = _CLIENT_KEY.fullmatch(name)
    if match is None or (match["role"] is None and match["side"] is None):
        return None
    return ClientKey(match["side"] or "", match["role"] or "", bool(match["over"]), match["name"])


def _in_flow(key: str, aliases: Sequence[str]) -> Address:
    by_length = sorted(aliases, key=len, reverse=True)
    for source in by_length:
        for target in by_length:
            prefix = f"{source}->{target}."
            if key.startswith(prefix):
                return _named(Place.FLOW, prefix, (source, target), key[len(prefix) :])
    source, _, rest = key.partition("->")
    known = next((alias for alias in by_length if rest.startswith(f"{alias}.")), rest.partition(".")[0])
    prefix = f"{source}->{known}."
    return _named(Place.FLOW, prefix, (source, known), key[len(prefix) :])


def _named(place: Place, prefix: str, clusters: tuple[str, ...], name: str) -> Address:
    option = options.find(name, _SCOPES[place])
    if option:
        return Address(place, prefix, clusters, name, option)
    client = client_key(name)
    if client and not (place is Place.CLUSTER and (client.side or client.override)):
        scopes = _ROLE_SCOPES[client.role] if client.role else (Scope.CLIENT,)
        found = options.find(client.name, scopes)
        if found:
            return Address(place, prefix, clusters, name, found, client=client)
    return Address(place, prefix, clusters, name, family=options.find_family(name, _SCOPES[place]))
