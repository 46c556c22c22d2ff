"""How a conflict was settled."""

from __future__ import annotations

from typing import NamedTuple

from heliograph.conflicts.candidate import Candidate


class Resolution(NamedTuple):
    """The value that counts from now on, and who brought it; nobody did alone if it was merged."""

    winner: Candidate | None
    value: bytes | None
    rule: str
    note: str = ""

    @classmethod
    def for_winner(cls, winner: Candidate, rule: str, note: str = "") -> Resolution:
        """One record wins as it is."""
        return cls(winner, winner.value, rule, note)
