"""Records to try, and histories of several clusters that each read the same records in their own way."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.transforms.message import Header

ALIASES = ("ap", "eu", "us")
WINDOW_MS = 5


def record(
    origin: str,
    timestamp_ms: int,
    value: bytes | None = b"v",
    *,
    offset: int = 0,
    headers: tuple[Header, ...] = (),
    key: bytes = b"k",
) -> Candidate:
    """A record of `orders` that was written on the origin, as the cluster `eu` reads it."""
    topic = "orders" if origin == "eu" else f"{origin}.orders"
    return Candidate(origin, "orders", topic, 0, offset, timestamp_ms, key, value, headers)


def conflict(*records: Candidate) -> Conflict:
    """Records in conflict, put in their order."""
    return Conflict(tuple(sorted(records, key=lambda candidate: candidate.order)), WINDOW_MS)


@dataclass(frozen=True)
class Write:
    """What someone wrote on a cluster."""

    origin: str
    timestamp_ms: int
    value: bytes | None
    headers: tuple[Header, ...] = ()


def as_read_on(cluster: str, writes: Sequence[Write], gap: int) -> list[Candidate]:
    """The writes as a cluster reads them: other topics, other offsets, but each origin in the order of its log."""
    found = []
    for place, write in enumerate(writes):
        topic = "orders" if write.origin == cluster else f"{write.origin}.orders"
        found.append(
            Candidate(
                write.origin, "orders", topic, 0, place * gap, write.timestamp_ms, b"k", write.value, write.headers
            )
        )
    return found


CLOCKS = st.dictionaries(st.sampled_from(ALIASES), st.integers(0, 2), max_size=3)
TEXTS = st.sampled_from([None, b"1", b"2", b"\xff"])


@st.composite
def writes(draw: st.DrawFn, values: st.SearchStrategy[bytes | None] = TEXTS, longest: int = 60) -> list[Write]:
    """Writes on up to three clusters whose clocks are off, in the order in which they happened."""
    skews = {alias: draw(st.integers(-8, 8), label=f"skew of {alias}") for alias in ALIASES}
    moments = st.tuples(st.sampled_from(ALIASES), st.integers(0, longest), values, CLOCKS)
    happened = sorted(draw(st.lists(moments, max_size=25)), key=lambda moment: moment[1])
    return [
        Write(origin, 1000 + moment + skews[origin], value, (Header("vector-clock", json.dumps(clock).encode()),))
        for origin, moment, value, clock in happened
    ]
