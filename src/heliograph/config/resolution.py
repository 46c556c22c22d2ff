"""Which line of the file a setting comes from: MirrorMaker 2's rules of precedence, as pure functions.

Every function returns the entries that count by the names under which clients, workers and connectors
read them. What MirrorMaker 2 silently drops although its meaning is plain is kept, below everything that
MirrorMaker 2 itself reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from heliograph.config import options
from heliograph.config.address import ROLES, Address, Place, client_key
from heliograph.config.option import FLOW_SCOPES, Scope
from heliograph.config.properties import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Settings: TypeAlias = dict[str, Entry]

_WORKER_PREFIXES: Final = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
    "config.providers",
)
_OVERRIDABLE: Final = {("source", "consumer"), ("target", "producer"), ("target", "admin")}


def with_new_names(entries: Mapping[str, Entry], addresses: Mapping[str, Address]) -> Settings:
    """The entries with old names replaced by those that took their place; the new name wins over the old."""
    renamed: Settings = {}
    for key, entry in entries.items():
        address = addresses[key]
        new_name = address.option.replaced_by if address.option else ""
        if not new_name:
            renamed[key] = entry
        elif address.prefix + new_name not in entries:
            renamed[address.prefix + new_name] = entry
    return renamed


def is_dropped_by_mm2(address: Address) -> bool:
    """Whether MirrorMaker 2 would silently ignore a known key at this place."""
    option, client = address.option, address.client
    if address.place is Place.TOP:
        if client or (option and option.scope is Scope.CLIENT):
            return address.name not in options.SECURITY_NAMES
        described = option or address.family
        return bool(described and described.dropped_at_top)
    if address.place is Place.CLUSTER:
        plain = option is not None and option.scope is Scope.CLIENT and not client
        return plain and address.name not in options.SECURITY_NAMES
    return bool((option and option.scope is Scope.WORKER) or (client and client.role == "producer" and not client.side))


def cluster_settings(entries: Mapping[str, Entry], alias: str) -> Settings:
    """What stands behind one alias; security keys also reach each role, and shared ones fill the gaps."""
    settings = _stripped(entries, f"{alias}.")
    for source in (dict(settings), entries):
        for name in options.SECURITY_NAMES & source.keys():
            for prefix in ("", *(f"{role}." for role in ROLES)):
                settings.setdefault(prefix + name, source[name])
    for name in options.in_scopes((Scope.CLIENT,)).keys() & entries.keys():
        settings.setdefault(name, entries[name])
    return settings


def worker_settings(entries: Mapping[str, Entry], source: str, target: str) -> Settings:
    """What a Connect worker of the flow would read: keys of the target, and some without a prefix."""
    names = options.in_scopes((Scope.WORKER,))
    settings = {name: entries[name] for name in names if name in entries}
    settings |= cluster_settings(entries, target)
    settings |= {key: entry for key, entry in entries.items() if key.startswith(_WORKER_PREFIXES)}
    own = _stripped(entries, f"{source}->{target}.")
    return settings | {name: own[name] for name in names if name in own}


def connector_settings(entries: Mapping[str, Entry], source: str, target: str) -> Settings:
    """What the connectors of the flow would read; keys of the flow itself win."""
    settings = {key: entry for key, entry in entries.items() if _is_for_connectors(key)}
    for side, alias in (("source", source), ("target", target)):
        for name, entry in cluster_settings(entries, alias).items():
            prefix = f"{side}." if name.startswith(ROLES) else f"{side}.cluster."
            settings[prefix + name] = entry
    return settings | _stripped(entries, f"{source}->{target}.")


def client_settings(connector: Mapping[str, Entry], side: str, role: str) -> Settings:
    """What a client of a flow reads, from the settings of its connectors."""
    layers = [f"{side}.cluster.", f"{role}.", f"{side}.{role}."]
    if (side, role) in _OVERRIDABLE:
        layers.append(f"{role}.override.")
    merged = _layered(connector, layers)
    return {name: entry for name, entry in merged.items() if not name.startswith("override.")}


def cluster_client_settings(entries: Mapping[str, Entry], alias: str, role: str) -> Settings:
    """What a client of a cluster reads, apart from any flow."""
    shared = _stripped(entries, f"{role}.")
    return shared | _layered(cluster_settings(entries, alias), ["", f"{role}."])


def shadowed(entries: Mapping[str, Entry], source: str, target: str) -> Iterable[tuple[Entry, Entry, str]]:
    """Client keys of a flow that lose to the cluster's: the loser, the winner, and the spelling that wins."""
    flow = _stripped(entries, f"{source}->{target}.")
    for name, entry in flow.items():
        client = client_key(name)
        if client is None or client.side or client.override or not client.role:
            continue
        side, alias = ("target", target) if client.role == "producer" else ("source", source)
        winner = cluster_settings(entries, alias).get(name)
        if winner:
            yield entry, winner, f"{source}->{target}.{side}.{name}"


def shadowed_by_top(entries: Mapping[str, Entry], alias: str) -> Iterable[tuple[Entry, Entry]]:
    """Worker keys of a cluster that lose to the same key without a prefix: the loser and the winner."""
    for name, entry in _stripped(entries, f"{alias}.").items():
        if name.startswith(_WORKER_PREFIXES) and name in entries:
            yield entry, entries[name]


def _is_for_connectors(key: str) -> bool:
    known = options.find(key, FLOW_SCOPES) or options.find_family(key, FLOW_SCOPES)
    return known is not None or key.startswith("config.providers") or client_key(key) is not None


def _layered(settings: Mapping[str, Entry], prefixes: Iterable[str]) -> Settings:
    merged: Settings = {}
    for prefix in prefixes:
        merged |= _stripped(settings, prefix)
    return merged


def _stripped(entries: Mapping[str, Entry], prefix: str) -> Settings:
    return {key[len(prefix) :]: entry for key, entry in entries.items() if key.startswith(prefix)}
