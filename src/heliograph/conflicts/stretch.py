"""The earliest records of a key that belong together.

Records of different origins conflict if their timestamps are at most a window apart, and all that hang together so
are one conflict. In the order of time it is a stretch without gaps: any two records less than a window before a third
are less than a window from each other, so as soon as there are two origins among the three, all hang together.
"""

from __future__ import annotations

from collections.abc import Sequence

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate


def stretch_end(ordered: Sequence[Candidate], start: int, bounds: Bounds) -> int:
    """The index behind the stretch that begins at the start; a stretch of one record is no conflict.

    What lies more than the longest span behind the first record is not looked at: there the stretch is cut.
    """
    cut_ms = ordered[start].timestamp_ms + bounds.span_ms
    end, reach, run = start + 1, start, start  # reach: first one in the window; run: since when it is one origin
    for index in range(start + 1, len(ordered)):
        record = ordered[index]
        if record.timestamp_ms > cut_ms:
            break
        if record.origin != ordered[index - 1].origin:
            run = index
        while ordered[reach].timestamp_ms < record.timestamp_ms - bounds.window_ms:
            reach += 1
        if reach >= end:
            break
        if run > reach:
            end = index + 1
    return end


def settles_after_ms(ordered: Sequence[Candidate], start: int, end: int, bounds: Bounds) -> int:
    """The stretch is final once no record with a timestamp up to this one can come any more."""
    last_chance_ms = ordered[end - 1].timestamp_ms + bounds.window_ms
    return min(last_chance_ms, ordered[start].timestamp_ms + bounds.span_ms)
