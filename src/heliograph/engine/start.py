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
    by_topic: dict[str, dict[int, int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, {})[partition] = start
    starts: dict[TopicPartition, int] = {}
    for topic, asked in by_topic.items():
        found = reading.list_offsets(source, topic, asked)
        too_late = {partition: LATEST for partition, offset in found.items() if offset < 0}
        found.update(reading.list_offsets(source, topic, too_late))
        starts.update({TopicPartition(topic, partition): offset for partition, offset in found.items()})
    return starts
