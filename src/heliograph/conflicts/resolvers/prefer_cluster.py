"""Some clusters count more than others."""

from __future__ import annotations

from collections.abc import Mapping

from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.policy.filters import split_list

CLUSTERS_KEY = "conflicts.prefer.clusters"


class PreferCluster(Resolver):
    """Takes the last record of the first cluster in a list that took part; the last of all if none of them did."""

    RULE = "prefer-cluster"

    def __init__(self) -> None:
        self._ranks: dict[str, int] = {}

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the list of aliases."""
        aliases = split_list(settings.get(CLUSTERS_KEY, ""))
        if not aliases or "" in aliases:
            raise ValueError(f"{CLUSTERS_KEY} must be a list of clusters, the one that counts most first")
        if len(set(aliases)) < len(aliases):
            raise ValueError(f"{CLUSTERS_KEY} names a cluster twice")
        self._ranks = {alias: rank for rank, alias in enumerate(aliases)}

    def resolve(self, conflict: Conflict) -> Resolution:
        """The last record of the cluster that counts most."""
        best = min(map(self._rank, (candidate.origin for candidate in conflict.candidates)))
        winner = [candidate for candidate in conflict.candidates if self._rank(candidate.origin) == best][-1]
        note = "" if winner.origin in self._ranks else "no preferred cluster took part"
        return Resolution.for_winner(winner, self.RULE, note)

    def _rank(self, alias: str) -> int:
        return self._ranks.get(alias, len(self._ranks))
