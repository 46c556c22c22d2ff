"""Where partitions without a position begin."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from heliograph.engine.settings import LaneSettings
from heliograph.kafka import reading
from heliograph.kafka.network import Network
from heliograph.kafka.reading import LATEST
from heliograph.model import TopicPartition

NOWHERE: Final = -100  # `auto.offset.reset = none`; no broker gives a number like this a meaning
WHY_NOWHERE: Final = (
    "has no position, and auto.offset.reset is none; "
    "set it to earliest or latest, or set start.timestamp.ms, to say where it begins"
)


def beginnings(
    source: Network, partitions: Collection[TopicPartition], settings: LaneSettings
) -> dict[TopicPartition, int]:
    """Where partitions without a position begin; those that have no place to begin are left out."""
    begun = _group_offsets(source, partitions, settings.start_group) if settings.start_group else {}
    if settings.start == NOWHERE:
        return begun
    return begun | first_offsets(source, [where for where in partitions if where not in begun], settings.start)


def first_offsets(source: Network, partitions: Iterable[TopicPartition], start: int) -> dict[TopicPartition, int]:
    """The offsets that a start stands for: earliest, latest, or a time, which is the end where nothing is as new."""
    found = reading.list_many(source, dict.fromkeys(partitions, start))
    too_late = [where for where, offset in found.items() if offset < 0]
    return found | reading.list_many(source, dict.fromkeys(too_late, LATEST))


def _group_offsets(source: Network, partitions: Collection[TopicPartition], group: str) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    from heliograph.kafka.groups import Groups  # few flows begin so, and lanes start often

    with Groups(source.access) as groups:
        committed = groups.committed([group])[group]
    return {where: committed[where].offset for where in partitions if where in committed}
