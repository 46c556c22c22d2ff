"""How many bytes the internal topics of a flow keep after a year, computed from what a run has shown.

What a topic holds is taken as compaction leaves it. On top comes what brokers leave lying about: they compact a log as
soon as half of it is out of date, and never its newest segment.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from heliograph.ledger.entries import PAGE_IDS
from heliograph.ledger.offset_map import PACKED_BYTES

YEAR_SECONDS = 365 * 24 * 3600
COMMITS_PER_SECOND = 200
_SEGMENT, _LARGE_SEGMENT = 1024 * 1024, 16 * 1024 * 1024  # see sync/topics.py
_POSITION_LOGS = 25  # default of offset.storage.partitions
_OUT_OF_DATE = 2  # Kafka's default of min.cleanable.dirty.ratio is 0.5: a log may be twice what compaction leaves
_LEDGER_SECONDS = 11 * 60  # ten minutes are kept; once a minute the rest is deleted
_LEDGER_OFFSETS = 10_000  # are kept if that is more
_JOURNAL_SECONDS = 14 * 24 * 3600  # default of ledger.retention.ms
_COMMITS_OF_AN_ID = 32_767  # then a lane gets another producer id
_BYTES_OF_AN_ID = 1.25  # in a page of a thousand
_BYTES_OF_A_SINGLE_ID = 200  # before it is packed, its frame included


@dataclass(frozen=True)
class Shown:
    """What a run has shown of one flow."""

    seconds: float
    commits: int
    runs: int  # in the offset map
    map_bytes: int  # which compaction leaves of the offset map
    position_bytes: int  # which compaction leaves of the positions
    state_bytes: int  # which compaction leaves of the state
    ledger_bytes_per_commit: float  # the marker of the transaction included
    journal_bytes: int  # written in these seconds

    def __str__(self) -> str:
        return (
            f"{self.seconds:.0f} s with {self.commits / self.seconds:.0f} commits/s, "
            f"{self.runs / self.commits:.2f} runs each of {self.map_bytes / self.runs:.2f} B; "
            f"ledger {self.ledger_bytes_per_commit:.0f} B a commit, positions {self.position_bytes} B, "
            f"state {self.state_bytes} B, journal {self.journal_bytes} B"
        )


@dataclass(frozen=True)
class Kept:
    """Bytes on one replica, by topic."""

    positions: float
    ledger: float
    offset_map: float
    state: float
    journal: float
    is_thinned: bool  # the offset map has reached its limit, so that old places are not exact any more

    @property
    def total(self) -> float:
        """Of all topics."""
        return sum(getattr(self, field.name) for field in fields(self) if field.name != "is_thinned")

    def __str__(self) -> str:
        parts = ", ".join(
            f"{field.name.replace('_', ' ')} {getattr(self, field.name) / 1e6:.1f}"
            for field in fields(self)
            if field.name != "is_thinned"
        )
        return f"{self.total / 1e6:.0f} MB ({parts}; old runs {'thin out' if self.is_thinned else 'all kept'})"


def kept_after(
    shown: Shown, commits_per_second: float = COMMITS_PER_SECOND, target_keeps_seconds: float = YEAR_SECONDS
) -> Kept:
    """After a year with so many commits; of runs those are kept whose records the target still has."""
    runs = shown.runs / shown.commits * commits_per_second * min(YEAR_SECONDS, target_keeps_seconds)
    all_pages = runs * shown.map_bytes / shown.runs
    ids = commits_per_second * YEAR_SECONDS / _COMMITS_OF_AN_ID
    single = PAGE_IDS * _BYTES_OF_A_SINGLE_ID
    entries = max(commits_per_second * _LEDGER_SECONDS, _LEDGER_OFFSETS / 2)  # each has a marker beside it
    return Kept(
        positions=_OUT_OF_DATE * shown.position_bytes + _POSITION_LOGS * _SEGMENT,
        ledger=entries * shown.ledger_bytes_per_commit + _LARGE_SEGMENT,
        offset_map=_OUT_OF_DATE * min(all_pages, PACKED_BYTES) + _LARGE_SEGMENT,
        state=_OUT_OF_DATE * (shown.state_bytes + ids * _BYTES_OF_AN_ID + single) + _SEGMENT,
        journal=shown.journal_bytes / shown.seconds * _JOURNAL_SECONDS + _SEGMENT,
        is_thinned=all_pages > PACKED_BYTES,
    )
