"""Compares source and target by content: every committed record of every partition, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.records import Record
from heliograph.model import Assignment, TopicPartition


@dataclass(frozen=True)
class Difference:
    """The first place where two partitions differ."""

    source: TopicPartition
    target: TopicPartition
    source_record: Record | None
    target_record: Record | None

    def __str__(self) -> str:
        if self.source_record is None:
            assert self.target_record is not None
            return f"{self.target} offset {self.target_record.offset}: a record that {self.source} does not have"
        if self.target_record is None:
            return f"{self.source} offset {self.source_record.offset}: missing at the end of {self.target}"
        fields = [name for name in ("key", "value", "headers", "timestamp") if self._differs(name)]
        places = f"{self.source} offset {self.source_record.offset}, {self.target} offset {self.target_record.offset}"
        return f"{places}: {', '.join(fields)} not the same"

    def _differs(self, field: str) -> bool:
        return bool(getattr(self.source_record, field) != getattr(self.target_record, field))


@dataclass(frozen=True)
class Comparison:
    """What was compared, and where it differs."""

    partitions: int
    records: int
    differences: Sequence[Difference]

    @property
    def is_equal(self) -> bool:
        """Whether both sides hold the same records."""
        return not self.differences


def compare(
    source: Access,
    target: Access,
    assignments: Iterable[Assignment],
    progress: Callable[[int], None] = lambda _: None,
) -> Comparison:
    """Read both sides from their beginning to the ends seen now; `progress` is told how many partitions are done."""
    loop = Loop()
    try:
        networks = Network(loop, source), Network(loop, target)
        records, differences, done = 0, [], 0
        for assignment in sorted(assignments, key=lambda item: item.source):
            count, difference = _compare_partition(loop, networks, assignment)
            records += count
            done += 1
            progress(done)
            if difference is not None:
                differences.append(difference)
        return Comparison(done, records, differences)
    finally:
        loop.close()


def _compare_partition(
    loop: Loop, networks: tuple[Network, Network], assignment: Assignment
) -> tuple[int, Difference | None]:
    sides = zip(networks, (assignment.source, assignment.target), strict=True)
    count = 0
    for ours, theirs in zip_longest(*(_records(loop, network, where) for network, where in sides)):
        if ours is None or theirs is None or _content(ours) != _content(theirs):
            return count, Difference(assignment.source, assignment.target, ours, theirs)
        count += 1
    return count, None


def _records(loop: Loop, network: Network, where: TopicPartition) -> Iterator[Record]:
    network.refresh([where.topic])
    starts = reading.list_offsets(network, where.topic, {where.partition: EARLIEST})
    for _, record in reading.read_to_end(loop, network, where.topic, starts):
        yield record


def _content(record: Record) -> tuple[object, ...]:
    return record.timestamp, record.key, record.value, tuple(record.headers)
