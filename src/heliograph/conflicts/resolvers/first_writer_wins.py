"""The oldest record wins."""

from __future__ import annotations

from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver


class FirstWriterWins(Resolver):
    """Takes the first record in the order of time; of equal times, that of the alias which sorts first."""

    RULE = "first-writer-wins"

    def resolve(self, conflict: Conflict) -> Resolution:
        """The first record."""
        return Resolution.for_winner(conflict.candidates[0], self.RULE)
