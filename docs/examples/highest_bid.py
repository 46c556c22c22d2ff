"""A rule for conflicts of one's own: of bids that met, the highest counts, whoever was last."""

from __future__ import annotations

import json
from collections.abc import Mapping

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver


class HighestBid(Resolver):
    """`conflicts.resolver = highest_bid.HighestBid`, `conflicts.resolver.field = amount`."""

    def __init__(self) -> None:
        self._field = "amount"

    def configure(self, settings: Mapping[str, str]) -> None:
        """Take the name of the field from the file."""
        self._field = settings.get("conflicts.resolver.field", self._field)

    def resolve(self, conflict: Conflict) -> Resolution:
        """The highest; of equal ones the later. Candidates are in the same order on every cluster."""
        return Resolution.for_winner(max(conflict.candidates, key=self._amount), "highest-bid")

    def _amount(self, bid: Candidate) -> tuple[float, int]:
        amount = json.loads(bid.value)[self._field] if bid.value else float("-inf")
        return amount, bid.timestamp_ms
