"""What a timeline must find, written down as plainly as can be: all records at once, every pair compared."""

from __future__ import annotations

from collections.abc import Iterable

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate, Identity
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.timeline import Settled


def settled_of(records: Iterable[Candidate], bounds: Bounds) -> list[Settled]:
    """All conflicts and all records that met no other."""
    pool = _once_each(records)
    told: set[Identity] = set()
    found: list[Settled] = []
    while pool:
        first = min(pool.values(), key=lambda one: one.order)
        cut_ms = first.timestamp_ms + bounds.span_ms
        group = _connected(first, [one for one in pool.values() if one.timestamp_ms <= cut_ms], bounds.window_ms)
        for one in group:
            del pool[one.identity]
        if all(one.identity in told for one in group):
            continue
        if len(group) == 1:
            found.append(first)
            continue
        found.append(Conflict(tuple(group), bounds.window_ms, any(one.identity in told for one in group)))
        told |= {one.identity for one in group}
        pool.update({one.identity: one for one in group if one.timestamp_ms > cut_ms - bounds.window_ms})
    return found


def _once_each(records: Iterable[Candidate]) -> dict[Identity, Candidate]:
    pool: dict[Identity, Candidate] = {}
    for one in sorted(records, key=lambda one: one.offset):
        pool[one.identity] = one
    return pool


def _connected(first: Candidate, others: list[Candidate], window_ms: int) -> list[Candidate]:
    group, left = [first], [one for one in others if one != first]
    for member in group:
        near = [one for one in left if one.origin != member.origin and _distance(one, member) <= window_ms]
        left = [one for one in left if one not in near]
        group += near
    return sorted(group, key=lambda one: one.order)


def _distance(one: Candidate, other: Candidate) -> int:
    return abs(one.timestamp_ms - other.timestamp_ms)
