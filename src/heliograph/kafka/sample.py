"""A few records of a topic, to look at: committed ones only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from heliograph.errors import ClusterError
from heliograph.kafka import records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.reading import EARLIEST, LATEST, list_offsets, read_batches
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_COMMITTED = 1  # the isolation level that hides what is not


class Sample(NamedTuple):
    """One record, and where it is."""

    where: TopicPartition
    record: Record


def records_from(access: Access, where: TopicPartition, offset: int, count: int) -> list[Sample]:
    """The first records of a partition from an offset on."""
    with opened(access, [where.topic]) as (loop, network):
        partition = where.partition
        if partition not in network.partitions(where.topic):
            raise ClusterError(f"{access.alias} has no partition {where}")
        first = list_offsets(network, where.topic, {partition: EARLIEST})[partition]
        end = list_offsets(network, where.topic, {partition: LATEST}, _COMMITTED)[partition]
        if not first <= offset < end:
            there = f"{first} to {end - 1}" if first < end else "none"
            raise ClusterError(f"{access.alias} {where} has no offset {offset}; there are {there}")
        return list(islice(_read(loop, network, where, offset, end), count))


def newest_records(access: Access, topic: str, count: int, partition: int | None = None) -> list[Sample]:
    """The newest records of a topic, or of one of its partitions, by their times."""
    with opened(access, [topic]) as (loop, network):
        partitions = network.partitions(topic)
        if partition is not None and partition not in partitions:
            raise ClusterError(f"{access.alias} has no partition {topic}-{partition}")
        chosen = dict.fromkeys(partitions if partition is None else [partition], EARLIEST)
        firsts = list_offsets(network, topic, chosen)
        ends = list_offsets(network, topic, dict.fromkeys(chosen, LATEST), _COMMITTED)
        found: list[Sample] = []
        for number in chosen:
            found += _last(loop, network, TopicPartition(topic, number), firsts[number], ends[number], count)
    return sorted(found, key=lambda item: item.record.timestamp)[-count:]


def _last(loop: Loop, network: Network, where: TopicPartition, first: int, end: int, count: int) -> list[Sample]:
    """Markers and compaction leave gaps in the offsets, so that it may take several steps back."""
    distance = count
    while True:
        start = max(first, end - distance)
        found = list(_read(loop, network, where, start, end))
        if len(found) >= count or start == first:
            return found[-count:]
        distance *= 4


def _read(loop: Loop, network: Network, where: TopicPartition, start: int, end: int) -> Iterator[Sample]:
    for piece in read_batches(loop, network, where.topic, {where.partition: start}, {where.partition: end}):
        for record in records.decode(piece.magic, piece.data):
            if start <= record.offset < end:
                yield Sample(where, record)
