"""How the detection of conflicts on one cluster gets on."""

from __future__ import annotations

from dataclasses import dataclass, field


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
