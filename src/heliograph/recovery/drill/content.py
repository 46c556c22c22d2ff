"""What canary partitions really hold, read from their cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.model import TopicPartition

_Counts = Callable[[TopicPartition, int], bool]


class Found(NamedTuple):
    """A record: its place, and the number that the load gave it."""

    offset: int
    number: int


@dataclass(frozen=True)
class Content:
    """All committed records of some partitions, in order."""

    partitions: Mapping[TopicPartition, Sequence[Found]]

    @property
    def numbers(self) -> set[int]:
        """The numbers of all records."""
        return {found.number for records in self.partitions.values() for found in records}

    def repeated(self) -> list[int]:
        """Numbers that are there more than once."""
        counts = Counter(found.number for records in self.partitions.values() for found in records)
        return sorted(number for number, count in counts.items() if count > 1)

    def before(self, offsets: Mapping[TopicPartition, int]) -> set[int]:
        """The numbers before an offset of each partition; none of a partition without one."""
        return self._numbers(lambda where, offset: offset < offsets.get(where, 0))

    def since(self, offsets: Mapping[TopicPartition, int]) -> set[int]:
        """The numbers from an offset of each partition on; all of a partition without one."""
        return self._numbers(lambda where, offset: offset >= offsets.get(where, 0))

    def ends(self) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition."""
        return {where: records[-1].offset + 1 if records else 0 for where, records in self.partitions.items()}

    def _numbers(self, counts: _Counts) -> set[int]:
        return {
            found.number
            for where, records in self.partitions.items()
            for found in records
            if counts(where, found.offset)
        }


def read_content(access: Access, topics: Collection[str]) -> Content:
    """Read whole topics."""
    partitions: dict[TopicPartition, list[Found]] = {}
    with opened(access, topics) as (loop, network):
        for topic in sorted(topics):
            numbers = network.partitions(topic)
            partitions |= {TopicPartition(topic, number): [] for number in numbers}
            starts = reading.list_offsets(network, topic, dict.fromkeys(numbers, EARLIEST))
            for number, record in reading.read_to_end(loop, network, topic, starts):
                partitions[TopicPartition(topic, number)].append(Found(record.offset, int(record.key or b"-1")))
    return Content(partitions)
