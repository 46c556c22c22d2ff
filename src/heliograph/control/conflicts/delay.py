"""How far the detection of conflicts is behind."""

from __future__ import annotations

from heliograph.conflicts.totals import ConflictTotals


def delay_seconds(totals: ConflictTotals, now_ms: int) -> float | None:
    """For how long the oldest record may have waited that is not settled yet; None if nobody knows."""
    if not totals.waiting:
        return 0.0
    return max(0.0, (now_ms - totals.watermark_ms) / 1000) if totals.watermark_ms else None
