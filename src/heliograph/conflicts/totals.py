"""How the detection of conflicts on one cluster gets on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from heliograph.model import TopicPartition

_SHOWN = 20  # of what was passed by, the newest
_KNOWN = 100_000  # of which we know that they were counted


@dataclass(frozen=True)
class PassedBy:
    """Offsets that nobody can read, so that detection goes on behind them."""

    where: TopicPartition
    first: int
    last: int
    reason: str

    def __str__(self) -> str:
        which = f"offset {self.first}" if self.first == self.last else f"offsets {self.first} to {self.last}"
        return f"{self.where}: {which} passed by: {self.reason}"


@dataclass
class ConflictTotals:
    """What was looked at and found since this process began."""

    records: int = 0
    conflicts: int = 0
    late: int = 0  # records that came when their time had been settled already
    waiting: int = 0  # records that may still meet another
    watermark_ms: int = 0  # all that was written before this time is settled, or comes too late
    restarts: int = 0
    trouble: str = ""  # what holds it up now; empty while all is well
    by_topic: dict[str, int] = field(default_factory=dict)  # conflicts of each logical topic
    unreadable: int = 0  # offsets that were passed by, as nobody can read what is there
    passed_by: list[PassedBy] = field(default_factory=list)  # the newest of them
    _counted: dict[tuple[TopicPartition, int], None] = field(default_factory=dict)

    def pass_by(self, found: Iterable[PassedBy]) -> list[PassedBy]:
        """Count what was passed by, each once though it is read again; returns what is new."""
        new = [item for item in found if (item.where, item.first) not in self._counted]
        self._counted.update(((item.where, item.first), None) for item in new)
        while len(self._counted) > _KNOWN:
            del self._counted[next(iter(self._counted))]
        self.unreadable += sum(item.last - item.first + 1 for item in new)
        self.passed_by = [*self.passed_by, *new][-_SHOWN:]
        return new
