"""Rules by the name in a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from heliograph.conflicts.resolvers.crdt_merge import CrdtMerge
from heliograph.conflicts.resolvers.first_writer_wins import FirstWriterWins
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.conflicts.resolvers.prefer_cluster import PreferCluster
from heliograph.conflicts.resolvers.python_class import PythonClass
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.conflicts.resolvers.vector_clock import VectorClock
from heliograph.policy.plugins import PluginError

RESOLVER_KEY = "conflicts.resolver"
DEFAULT_RULE = LastWriterWins.RULE
_BUILT_IN: dict[str, type[Resolver]] = {
    rule.RULE: rule for rule in (LastWriterWins, FirstWriterWins, PreferCluster, VectorClock, CrdtMerge)
}
RULES = tuple(_BUILT_IN)


def make_resolver(settings: Mapping[str, str]) -> Resolver:
    """The configured rule that the settings ask for; PluginError says what is wrong with them."""
    name = settings.get(RESOLVER_KEY, DEFAULT_RULE).strip()
    resolver = _made(name)
    try:
        resolver.configure(settings)
    except ValueError as error:
        raise PluginError(f"{name} refuses its settings: {error}") from error
    return resolver


def _made(name: str) -> Resolver:
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if "." in name or ":" in name:
        return PythonClass(name)
    close = get_close_matches(name, RULES, n=1)
    hint = f"did you mean {close[0]}?" if close else f"possible are {', '.join(RULES)}, or a Python class"
    raise PluginError(f"{RESOLVER_KEY}: there is no rule {name!r}; {hint}")
