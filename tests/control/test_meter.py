from __future__ import annotations

from heliograph.control.meter import WINDOW_SECONDS, FlowMeter
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.model import LedgerEntry, PartitionProgress, Run, TopicPartition

_NOW = 1_700_000_000_000


def entry(at_ms: int, count: int, age_ms: int = 100, partition: int = 0, size: int = 1000) -> LedgerEntry:
    """A transaction with records of one age, but for one that is twice as old."""
    progress = PartitionProgress(
        TopicPartition("t", partition), TopicPartition("a.t", partition), [Run(0, 0, count)], count - 1, size,
        newest_timestamp=at_ms - age_ms, oldest_timestamp=at_ms - 2 * age_ms, mean_timestamp=at_ms - age_ms,
    )  # fmt: skip
    return LedgerEntry("a->b", 0, "me", 1, at_ms - 5, (progress,), committed_at_ms=at_ms)


def test_totals_count_everything_and_the_window_only_its_seconds() -> None:
    meter = FlowMeter()
    meter.mirrored(entry(_NOW - 120_000, 7))
    meter.mirrored(entry(_NOW - 30_000, 60))
    meter.mirrored(entry(_NOW, 60, partition=1))
    window = meter.whole.window(_NOW)
    assert (meter.whole.records, meter.whole.bytes, meter.transactions) == (127, 3000, 3)
    assert (window.records_per_second, window.bytes_per_second) == (120 / WINDOW_SECONDS, 2000 / WINDOW_SECONDS)
    assert meter.whole.window(_NOW, 10).records_per_second == 6
    assert {where: part.records for where, part in meter.partitions().items()} == {
        TopicPartition("a.t", 0): 67,
        TopicPartition("a.t", 1): 60,
    }


def test_latencies_are_from_a_records_own_time_to_its_commit() -> None:
    meter = FlowMeter()
    meter.mirrored(entry(_NOW, 10, age_ms=100))
    meter.mirrored(entry(_NOW, 30, age_ms=200))
    window = meter.whole.window(_NOW)
    assert (window.latency_min, window.latency_avg, window.latency_max) == (100, 175, 400)


def test_after_a_quiet_minute_rates_are_zero_and_totals_stay() -> None:
    meter = FlowMeter()
    meter.mirrored(entry(_NOW, 10))
    later = meter.whole.window(_NOW + 61_000)
    assert (later.records_per_second, later.latency_avg, later.latency_max) == (0, 0, 0)
    assert meter.whole.records == 10


def test_a_transaction_that_only_skipped_records_changes_no_latency() -> None:
    meter = FlowMeter()
    meter.mirrored(entry(_NOW, 10, age_ms=100))
    progress = PartitionProgress(TopicPartition("t", 0), TopicPartition("a.t", 0), [], 99, 0, -1)
    meter.mirrored(LedgerEntry("a->b", 0, "me", 1, _NOW, (progress,), committed_at_ms=_NOW))
    assert meter.whole.window(_NOW).latency_max == 200
    assert meter.transactions == 2


def test_followers_are_told_and_checkpoints_are_timed() -> None:
    meter, told = FlowMeter(), []
    meter.followers.append(told.append)
    meter.mirrored(entry(_NOW, 1))
    assert [item.record_count for item in told] == [1]
    where = TopicPartition("a.t", 0)
    meter.wrote_checkpoints([Checkpoint("readers", where, 5, 5, "")], 12.5)
    assert meter.checkpoint_ms == {("readers", where): 12.5}
