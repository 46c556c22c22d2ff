"""The record that knew of all others wins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.errors import DataError

HEADER_KEY = "conflicts.vector.clock.header"
HEADER_DEFAULT = "vector-clock"
CONCURRENT = "concurrent"

Clock = Mapping[str, int]
_decode = msgspec.json.Decoder(dict[str, int]).decode


class VectorClock(Resolver):
    """Compares the versions in a header, a JSON object of counters by alias; without the header, all are zero.

    Where several records knew nothing of each other, the last of them wins, and the note says so.
    """

    RULE = "vector-clock"

    def __init__(self) -> None:
        self._header = HEADER_DEFAULT

    def configure(self, settings: Mapping[str, str]) -> None:
        """Read the name of the header."""
        self._header = settings.get(HEADER_KEY, HEADER_DEFAULT).strip()
        if not self._header:
            raise ValueError(f"{HEADER_KEY} is empty")

    def resolve(self, conflict: Conflict) -> Resolution:
        """The record whose clock no other one is ahead of; the last if there are several."""
        versions = [(self._clock(candidate), candidate) for candidate in conflict.candidates]
        clocks = [clock for clock, _ in versions]
        newest = [(clock, record) for clock, record in versions if not any(_is_ahead(other, clock) for other in clocks)]
        clock, winner = newest[-1]
        agree = all(other == clock and record.value == winner.value for other, record in newest)
        return Resolution.for_winner(winner, self.RULE, "" if agree else CONCURRENT)

    def _clock(self, candidate: Candidate) -> Clock:
        text = candidate.header(self._header)
        if text is None:
            return {}
        try:
            clock = _decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise DataError(f"the header {self._header} is not a JSON object of counters") from None
        if min(clock.values(), default=0) < 0:
            raise DataError(f"the header {self._header} has a counter below zero")
        return {alias: count for alias, count in clock.items() if count}


def _is_ahead(clock: Clock, other: Clock) -> bool:
    return clock != other and all(clock.get(alias, 0) >= count for alias, count in other.items())
