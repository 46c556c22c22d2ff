"""One partition of a flow as metrics show it, and which of many partitions get series of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from heliograph.control.meter import PartitionMeter, Window
from heliograph.model import TopicPartition

OTHER = "(other)"  # no topic can be called so

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Latency:
    """How old records were when their transaction was committed, in milliseconds."""

    last: float
    average: float
    smallest: float
    largest: float


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits at the source."""

    records: int
    seconds: float  # the first has waited so long
    stalled_seconds: float
    headroom_seconds: float | None  # until it expires there


@dataclass(frozen=True, slots=True)
class PartitionView:
    """How one partition, or all that have no series of their own together, are getting on."""

    source: str
    target: str
    topic: str  # on the source
    remote: str  # on the target
    partition: str
    records_per_second: float
    bytes_per_second: float
    latency: Latency | None
    waiting: Waiting | None
    is_set_aside: bool = False


@dataclass(frozen=True, slots=True)
class CountView:
    """What has been written to one target partition, or to all that have no series of their own."""

    source: str
    target: str
    remote: str
    partition: str
    records: int
    bytes: int


def latency_of(meter: PartitionMeter | None, minute: Window | None, waiting: Waiting | None) -> Latency | None:
    """The last minute's latency. Who waits longer than that is the slower one: what stands still must look slow."""
    waited = waiting.seconds * 1000 if waiting else 0.0
    if meter is None or minute is None or not meter.last_commit_ms:
        return Latency(waited, waited, waited, waited) if waited else None
    last = max(float(meter.latency_ms), waited)
    if not minute.records_per_second:
        return Latency(last, last, last, last)
    return Latency(last, round(minute.latency_avg, 3), minute.latency_min, max(minute.latency_max, waited))


def most_troubled(views: Sequence[PartitionView], most: int) -> list[PartitionView]:
    """So many views: those furthest behind on their own, and all others as one, so that sums stay right."""
    chosen, rest = split(views, most, _trouble)
    return [*chosen, merged(rest)] if rest else chosen


def split(items: Sequence[_Item], most: int, order: Callable[[_Item], Any]) -> tuple[list[_Item], list[_Item]]:
    """The first so many in an order, and the rest; as they stand when all fit."""
    if len(items) <= most:
        return list(items), []
    ordered = sorted(items, key=order)
    return ordered[:most], ordered[most:]


def _trouble(view: PartitionView) -> tuple[bool, float, int, str, int]:
    """Sorts what is set aside or far behind to the front; all else keeps its place, so that series stay."""
    waiting = view.waiting
    seconds, records = (waiting.seconds, waiting.records) if waiting else (0.0, 0)
    return not view.is_set_aside, -seconds, -records, view.topic, int(view.partition)


def merged(views: Sequence[PartitionView]) -> PartitionView:
    """Several as one: sums of what can be summed, the worst of what cannot."""
    waits = [view.waiting for view in views if view.waiting]
    return PartitionView(
        views[0].source,
        views[0].target,
        OTHER,
        OTHER,
        OTHER,
        round(sum(view.records_per_second for view in views), 3),
        round(sum(view.bytes_per_second for view in views), 3),
        _merged_latency(views),
        _merged_waiting(waits) if waits else None,
        any(view.is_set_aside for view in views),
    )


def _merged_latency(views: Iterable[PartitionView]) -> Latency | None:
    known = [(view.latency, view.records_per_second) for view in views if view.latency]
    if not known:
        return None
    weight = sum(rate for _, rate in known)
    average = sum(item.average * rate for item, rate in known) / weight if weight else 0.0
    latencies = [item for item, _ in known]
    return Latency(
        max(item.last for item in latencies),
        round(average, 3) if weight else max(item.average for item in latencies),
        min(item.smallest for item in latencies),
        max(item.largest for item in latencies),
    )


def _merged_waiting(waits: Sequence[Waiting]) -> Waiting:
    return Waiting(
        sum(item.records for item in waits),
        max(item.seconds for item in waits),
        max(item.stalled_seconds for item in waits),
        min((item.headroom_seconds for item in waits if item.headroom_seconds is not None), default=None),
    )


class CountedPartitions:
    """Which target partitions of a flow have counters of their own: those seen first, for good.

    A counter must never fall, so a partition cannot move from one series to another, as it may with gauges.
    """

    def __init__(self) -> None:
        self._own: dict[TopicPartition, None] = {}

    def own(self, partitions: Iterable[TopicPartition], most: int) -> Mapping[TopicPartition, None]:
        """Those of the partitions that have counters of their own."""
        for where in partitions:
            if len(self._own) >= most:
                break
            self._own.setdefault(where)
        return self._own
