"""Records of one key that were written in different places too close to each other."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.conflicts.candidate import Candidate


@dataclass(frozen=True)
class Conflict:
    """Records that are to be settled together, in their order."""

    candidates: tuple[Candidate, ...]
    window_ms: int
    continues: bool = False  # begins with records that a conflict too long for one decision ended with

    @property
    def key(self) -> bytes:
        """The key that they all have."""
        return self.candidates[0].key

    @property
    def last(self) -> Candidate:
        """The last of them in their order."""
        return self.candidates[-1]
