"""Where partitions without a position begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from heliograph.kafka import reading
from heliograph.kafka.network import Network
from heliograph.kafka.reading import LATEST
from heliograph.model import TopicPartition

NOWHERE: Final = -100  # `auto.offset.reset = none`; no broker gives a number like this a meaning
WHY_NOWHERE: Final = (
    "has no position, and auto.offset.reset is none; "
    "set it to earliest or latest, or set start.timestamp.ms, to say where it begins"
)


def first_offsets(source: Network, partitions: Iterable[TopicPartition], start: int) -> dict[TopicPartition, int]:
    """The offsets that a start stands for: earliest, latest, or a time, which is the end where nothing is as new."""
    found = reading.list_many(source, dict.fromkeys(partitions, start))
    too_late = [where for where, offset in found.items() if offset < 0]
    return found | reading.list_many(source, dict.fromkeys(too_late, LATEST))
