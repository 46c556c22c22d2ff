"""What every rule for conflicts can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution


class Kept(NamedTuple):
    """What the view holds for a key, and what a rule must remember to go on from there."""

    value: bytes | None
    memory: bytes = b""


class Resolver(ABC):
    """A rule. The same records must give the same answer on every cluster: no clock, no chance, no local offsets."""

    @property
    def accumulates(self) -> bool:
        """Whether `keep` merges, so that also old records add to what newer ones have left in the view."""
        return False

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - a rule may need no settings
        """Take what the rule needs from the settings; ValueError refuses them."""

    @abstractmethod
    def resolve(self, conflict: Conflict) -> Resolution:
        """Settle a conflict; DataError if its records do not say what the rule must know."""

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        """What the view holds after records that were settled as the value; mostly that replaces what was before."""
        return Kept(value)
