"""Ranges of offsets: how much of them one micro-batch gets, and how they are dealt to Spark's tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from heliograph.model import TopicPartition

Offsets = Mapping[TopicPartition, int]


class OffsetRange(NamedTuple):
    """Some offsets of one partition: from the first, up to and without the end."""

    where: TopicPartition
    first: int
    end: int


def limited(starts: Offsets, ends: Offsets, most: int) -> dict[TopicPartition, int]:
    """Ends that leave at most so many offsets to read, shared by how much each partition has; at least one each."""
    sizes = {where: max(0, end - starts.get(where, end)) for where, end in ends.items()}
    total = sum(sizes.values())
    if total <= most:
        return dict(ends)
    return {
        where: min(ends[where], starts[where] + max(1, size * most // total)) if size else ends[where]
        for where, size in sizes.items()
    }


def cut(starts: Offsets, ends: Offsets, at_least: int) -> list[OffsetRange]:
    """What lies between, in at least so many pieces if there is enough."""
    whole = [OffsetRange(where, starts[where], end) for where, end in sorted(ends.items()) if starts[where] < end]
    total = sum(item.end - item.first for item in whole)
    if len(whole) >= at_least or not total:
        return whole
    return [piece for item in whole for piece in _pieces(item, round((item.end - item.first) * at_least / total))]


def _pieces(item: OffsetRange, count: int) -> Sequence[OffsetRange]:
    size = item.end - item.first
    count = max(1, min(count, size))
    edges = [item.first + size * number // count for number in range(count + 1)]
    return [OffsetRange(item.where, first, end) for first, end in pairwise(edges)]
