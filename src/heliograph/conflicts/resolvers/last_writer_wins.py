"""The newest record wins."""

from __future__ import annotations

from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver


class LastWriterWins(Resolver):
    """Takes the last record in the order of time; of equal times, that of the alias which sorts last."""

    RULE = "last-writer-wins"

    def resolve(self, conflict: Conflict) -> Resolution:
        """The last record."""
        return Resolution.for_winner(conflict.last, self.RULE)
