"""Compares source and target by content: every committed record of every partition, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import Assignment, TopicPartition
from heliograph.recovery.difference import Difference
from heliograph.recovery.pairing import Pairing, Stretch, compare_stretches


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
            result = _compare_partition(loop, networks, assignment)
            records += result.records
            done += 1
            progress(done)
            if result.difference is not None:
                differences.append(result.difference)
        return Comparison(done, records, differences)
    finally:
        loop.close()


def _compare_partition(loop: Loop, networks: tuple[Network, Network], assignment: Assignment) -> Pairing:
    sides = zip(networks, (assignment.source, assignment.target), strict=True)
    return compare_stretches(*(_all_of(loop, network, where) for network, where in sides))


def _all_of(loop: Loop, network: Network, where: TopicPartition) -> Stretch:
    network.refresh([where.topic])
    starts = reading.list_offsets(network, where.topic, {where.partition: EARLIEST})
    ends = reading.list_offsets(network, where.topic, {where.partition: LATEST})
    batches = reading.read_batches(loop, network, where.topic, starts, ends)
    return Stretch(where, batches, starts[where.partition], ends[where.partition])
