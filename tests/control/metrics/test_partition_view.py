from __future__ import annotations

from heliograph.control.meter import PartitionMeter, Window
from heliograph.control.metrics.partition_view import (
    OTHER,
    CountedPartitions,
    Latency,
    PartitionView,
    Waiting,
    latency_of,
    most_troubled,
)
from heliograph.model import TopicPartition

_IDLE = Window()
_BUSY = Window(10, 100, 20.0, 5, 50)


def _view(number: int, records: int = 0, seconds: float = 0.0, aside: bool = False, rate: float = 1.0) -> PartitionView:
    waiting = Waiting(records, seconds, 0.0, 100.0 - seconds)
    return PartitionView("A", "B", "t", "A.t", str(number), rate, 2.0, Latency(number, number, 1, 9), waiting, aside)


def test_those_furthest_behind_are_shown_and_the_rest_is_one_whose_sums_are_right() -> None:
    views = [_view(0), _view(1, 5, 1.0), _view(2, 9, 9.0), _view(3, 7, 1.0), _view(4, aside=True), _view(5, rate=3.0)]
    shown = most_troubled(views, 3)
    assert [view.partition for view in shown] == ["4", "2", "3", OTHER]
    rest = shown[-1]
    assert (rest.topic, rest.remote) == (OTHER, OTHER)
    assert rest.records_per_second == 1 + 1 + 3
    assert sum(view.waiting.records for view in shown if view.waiting) == 5 + 9 + 7
    assert rest.waiting == Waiting(5, 1.0, 0.0, 99.0)
    assert rest.latency == Latency(5, (0 * 1 + 1 * 1 + 5 * 3) / 5, 1, 9)


def test_when_all_fit_all_are_shown_as_they_stand() -> None:
    views = [_view(0), _view(1, 5, 1.0)]
    assert most_troubled(views, 2) == views


def test_those_that_are_level_keep_their_place_so_that_series_stay() -> None:
    shown = most_troubled([_view(number) for number in range(12)], 10)
    assert [view.partition for view in shown] == [*map(str, range(10)), OTHER]


def test_a_partition_that_was_counted_on_its_own_stays_so_and_others_never_take_its_place() -> None:
    counted = CountedPartitions()
    first = [TopicPartition("t", number) for number in range(3)]
    assert list(counted.own(first, 2)) == first[:2]
    assert list(counted.own([TopicPartition("a", 0), *reversed(first)], 2)) == first[:2]


def test_latency_is_that_of_the_last_minute() -> None:
    meter = PartitionMeter(latency_ms=12, last_commit_ms=1)
    assert latency_of(meter, _BUSY, Waiting(0, 0.0, 0.0, None)) == Latency(12, 20.0, 5, 50)


def test_a_latency_never_falls_because_nothing_arrives() -> None:
    meter = PartitionMeter(latency_ms=12, last_commit_ms=1)
    assert latency_of(meter, _IDLE, Waiting(0, 0.0, 0.0, None)) == Latency(12, 12, 12, 12)
    assert latency_of(meter, _IDLE, Waiting(3, 90.0, 0.0, None)) == Latency(90_000, 90_000, 90_000, 90_000)
    assert latency_of(meter, _BUSY, Waiting(3, 7.0, 0.0, None)) == Latency(7_000, 20.0, 5, 7_000)


def test_what_was_never_mirrored_has_a_latency_only_if_it_waits() -> None:
    assert latency_of(None, None, Waiting(0, 0.0, 0.0, None)) is None
    assert latency_of(None, None, Waiting(1, 2.0, 0.0, None)) == Latency(2_000, 2_000, 2_000, 2_000)
