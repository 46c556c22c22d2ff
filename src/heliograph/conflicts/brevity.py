"""Decisions are records: what is too long for one is told in brief, the same way on every cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution

MOST_CANDIDATES = 200
MOST_VALUE_BYTES = 512 * 1024  # of all candidates together
LONGEST_VALUE = 4 * 1024 * 1024  # of the value that counts
LARGEST_DECISION = 10 * 1024 * 1024


@dataclass(frozen=True)
class Brief:
    """A conflict and how it was settled, without the headers of records; and what else was left out."""

    conflict: Conflict
    resolution: Resolution
    omitted: int = 0  # candidates
    values_omitted: int = 0  # of the candidates that are left

    @classmethod
    def of(cls, conflict: Conflict, resolution: Resolution) -> Brief:
        """The first and the last candidates, and the winner; values of the later ones rather than of the earlier."""
        chosen = _chosen(conflict.candidates, resolution.winner)
        told = _within_budget(chosen)
        winner = next((new for old, new in zip(chosen, told, strict=True) if old == resolution.winner), None)
        return cls(
            replace(conflict, candidates=tuple(told)),
            _short_enough(resolution)._replace(winner=winner),
            len(conflict.candidates) - len(chosen),
            sum(old.value is not None and new.value is None for old, new in zip(chosen, told, strict=True)),
        )


def _chosen(candidates: tuple[Candidate, ...], winner: Candidate | None) -> list[Candidate]:
    if len(candidates) <= MOST_CANDIDATES:
        return list(candidates)
    half = MOST_CANDIDATES // 2
    between = [one for one in candidates[half:-half] if one == winner]
    return [*candidates[:half], *between, *candidates[-half:]]


def _within_budget(candidates: list[Candidate]) -> list[Candidate]:
    left = MOST_VALUE_BYTES
    told = []
    for one in reversed(candidates):
        left -= len(one.value or b"")
        told.append(msgspec.structs.replace(one, headers=(), value=one.value if left >= 0 else None))
    return told[::-1]


def _short_enough(resolution: Resolution) -> Resolution:
    size = len(resolution.value or b"")
    if size <= LONGEST_VALUE:
        return resolution
    note = "; ".join(filter(None, (resolution.note, f"a value of {size} bytes is not told here")))
    return resolution._replace(value=None, note=note)
