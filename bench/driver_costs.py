"""What the driver and the books spend on one partition, without brokers: python -m bench.driver_costs."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence

from heliograph.control.meter import FlowMeter
from heliograph.engine.dealing import deal
from heliograph.engine.flow import FlowTotals
from heliograph.engine.settings import LaneSettings
from heliograph.engine.task import LaneTask
from heliograph.kafka import positions
from heliograph.kafka.access import Access
from heliograph.ledger import entries
from heliograph.model import (
    Assignment,
    InternalTopics,
    LanePlan,
    LedgerEntry,
    PartitionProgress,
    Position,
    Run,
    TopicPartition,
)

_SIZES = ((2_000, 2), (10_000, 100))  # partitions and lanes
_LINES = (1, 100)  # partitions of one transaction
_TRANSACTIONS = 200
_NOW_MS = 1_700_000_000_000
_POSITION = Position(10_000_000, 9_000_000, "b8ad5a2e-50a4-4b7c-9a5e-1d1f2f3c4d5e", 5)
_CLUSTER = Access("primary", ["broker.example.org:9092"])


def _source(number: int) -> TopicPartition:
    return TopicPartition(f"orders-of-region-{number // 4:05d}", number % 4)


def _target(number: int) -> TopicPartition:
    topic, partition = _source(number)
    return TopicPartition(f"primary.{topic}", partition)


def _entry(lines: int) -> LedgerEntry:
    """A transaction that has brought a thousand records of each of so many partitions."""
    done = tuple(
        PartitionProgress(
            _source(number), _target(number), (Run(10_000_000 + number, 9_000_000 + number, 1000),),
            10_000_999 + number, 1_000_000, _NOW_MS, _NOW_MS, _NOW_MS,
        )
        for number in range(lines)
    )  # fmt: skip
    return LedgerEntry("primary->backup", 3, "mirror.example.org-12345-0a1b2c3d-1", 1_234_567, _NOW_MS, done)


def _seconds(work: Callable[[], object]) -> float:
    """Processor time."""
    began = time.process_time()
    work()
    return time.process_time() - began


def _follow(reports: Sequence[bytes]) -> None:
    """What the driver does with what lanes report."""
    totals, meter = FlowTotals(), FlowMeter()
    for report in reports:
        entry = pickle.loads(report)
        totals.add(entry)
        meter.mirrored(entry)


def _plan(partitions: int, lanes: int) -> list[bytes]:
    """What the driver does for each epoch, but for what it asks the clusters."""
    items = [Assignment(_source(number), _target(number), 1_048_588) for number in range(partitions)]
    dealt = deal(items, {item.source: 1_000_000 + number for number, item in enumerate(items)}, lanes)
    return [_task(number, some) for number, some in enumerate(dealt)]


def _task(lane: int, items: Sequence[Assignment]) -> bytes:
    plan = LanePlan(
        flow="primary->backup", lane=lane, owner="mirror.example.org-12345-0a1b2c3d-1", deal=1,
        transactional_ids=tuple(f"heliograph-primary->backup-{lane}{turn}" for turn in "abc"),
        topics=InternalTopics(*(f"mm2-{kind}.primary.internal" for kind in InternalTopics._fields)),
        assignments=tuple(items), positions={item.source: _POSITION for item in items},
        offsets_read_to=dict.fromkeys(range(25), 1_000_000),
    )  # fmt: skip
    return LaneTask(plan, _CLUSTER, _CLUSTER, LaneSettings(), 600.0).packed()


def main() -> None:
    """Print bytes and microseconds."""
    for lines in _LINES:
        entry = _entry(lines)
        reports = [pickle.dumps(entry)] * _TRANSACTIONS
        each = _seconds(lambda reports=reports: _follow(reports)) / _TRANSACTIONS / lines  # type: ignore[misc]
        size = len(entries.encode_entry(entry)) / lines
        print(f"transactions of {lines} partitions: {size:.0f} B of ledger and {each * 1e6:.0f} µs for each of them")
    key, value = positions.encode_key("primary", _source(0)), positions.encode_value(_POSITION)
    print(f"a position: {len(key)} B of key, {len(value)} B of value")
    for partitions, lanes in _SIZES:
        seconds = _seconds(lambda size=(partitions, lanes): _plan(*size))  # type: ignore[misc]
        size = sum(map(len, _plan(partitions, lanes))) / partitions
        print(f"a plan of {partitions:,} partitions on {lanes} lanes: {seconds:.2f} s, {size:.0f} B for each of them")


if __name__ == "__main__":
    main()
