"""From where to where epochs read, what they tell the buckets, and where a new run begins."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.bucket import BUCKETS
from heliograph.conflicts.timeline import NO_WATERMARK
from heliograph.engine.conflicts import planner as planner_module
from heliograph.engine.conflicts.planner import Planner
from heliograph.engine.conflicts.progress import KnownProgress
from heliograph.engine.conflicts.read_task import ReadTask, TopicOrigin
from heliograph.engine.conflicts.scope import Scope
from heliograph.engine.conflicts.step import Tick, decode_tick
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.kafka.reading import LATEST
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.engine.conflicts.paper_log import PaperLog
from tests.engine.conflicts.samples import (
    LATENESS_MS,
    WAIT_MAX_MS,
    Places,
    mark,
    settings,
    written,
    written_by,
)

ONE, OTHER, NEW = TopicPartition("orders", 0), TopicPartition("us.orders", 0), TopicPartition("orders", 1)
VIEW = TopicPartition("orders.resolved", 0)
NOW = int(time.time() * 1000)
BEGAN = NOW - 50_000  # not so long ago that nobody would wait for it any more
Ranges = dict[TopicPartition, list[tuple[int, int]]]


class Run:
    """A run of detection whose cluster is on paper."""

    def __init__(
        self, log: PaperLog, known: Iterable[Record] = (), *, start: int = -2, tasks: int = 2, views: bool = False
    ) -> None:
        self.log = log
        self.planner = Planner(settings(start=start, tasks=tasks), log, KnownProgress(known), "the run")
        self._views = {VIEW.topic: "orders"} if views else {}

    def plan(self, until_ms: int = NOW, settles_after_ms: int | None = None) -> bool:
        """Plan with all partitions there are."""
        partitions = sorted(where for where in self.log.times if where.topic not in self._views)
        origins = {where.topic: TopicOrigin("orders", "eu") for where in partitions}
        return self.planner.plan(Scope(origins, partitions, self._views), until_ms, settles_after_ms)

    @property
    def tasks(self) -> list[ReadTask]:
        return [ReadTask.unpacked(data) for data in self.planner.epoch.tasks]

    @property
    def ticks(self) -> dict[int, Tick]:
        return {bucket: decode_tick(data) for task in self.tasks for bucket, data in task.ticks}

    @property
    def tick(self) -> Tick:
        return self.ticks[0]

    @property
    def ranges(self) -> Ranges:
        """What the tasks read, pieces of one partition put together."""
        return joined(item for task in self.tasks for item in task.ranges)


def joined(ranges: Iterable[OffsetRange]) -> Ranges:
    found: Ranges = {}
    for where, first, end in sorted(ranges):
        pieces = found.setdefault(where, [])
        if pieces and pieces[-1][1] == first:
            pieces[-1] = pieces[-1][0], end
        else:
            pieces.append((first, end))
    return found


def spread(count: int, gap: int = 100, since: int = BEGAN) -> list[int]:
    return [since + gap * number for number in range(count)]


def places(found: Mapping[TopicPartition, int]) -> Places:
    made: Places = {}
    for (topic, number), offset in found.items():
        made.setdefault(topic, {})[number] = offset
    return made


# -- the first time -----------------------------------------------------------------------------------------------


def test_the_first_time_all_is_read_and_every_bucket_is_told() -> None:
    run = Run(PaperLog({ONE: spread(10), OTHER: spread(4)}))
    assert run.planner.epoch.number == 0
    assert run.plan(NOW - 3000)
    assert run.ranges == {ONE: [(0, 10)], OTHER: [(0, 4)]}
    assert list(run.ticks) == list(range(BUCKETS))
    for tick in run.ticks.values():
        assert (tick.epoch, tick.run, tick.resumption) == (1, "the run", None)
        assert tick.places == {"orders": {0: 10}, "us.orders": {0: 4}}
        assert tick.watermark_ms == NOW - 3000 - LATENESS_MS
        assert NOW <= tick.planned_at_ms <= int(time.time() * 1000)


def test_the_first_epoch_is_planned_even_if_there_is_nothing_to_read() -> None:
    run = Run(PaperLog({}))
    assert run.plan()
    assert (run.ranges, len(run.ticks), len(run.tasks)) == ({}, BUCKETS, 1)
    assert not run.plan()


def test_who_begins_at_the_end_reads_only_what_comes_later_and_new_partitions_from_their_beginning() -> None:
    run = Run(PaperLog({ONE: spread(10)}), start=LATEST)
    assert run.plan()
    assert run.ranges == {}
    assert run.tick.places == {"orders": {0: 10}}
    run.log.append(ONE, NOW)
    run.log.append(NEW, *spread(3))
    assert run.plan()
    assert run.ranges == {ONE: [(10, 11)], NEW: [(0, 3)]}


# -- epoch after epoch --------------------------------------------------------------------------------------------


def test_the_next_epoch_goes_on_where_the_last_one_ended() -> None:
    run = Run(PaperLog({ONE: spread(10), OTHER: spread(4)}))
    assert run.plan()
    run.log.append(ONE, NOW, NOW)
    assert run.plan()
    assert run.ranges == {ONE: [(10, 12)]}
    assert (run.tick.epoch, run.tick.run, run.tick.resumption) == (2, "the run", None)
    assert run.tick.places == {"orders": {0: 12}, "us.orders": {0: 4}}
    assert run.planner.epoch.ends == {ONE: 12, OTHER: 4}


def test_without_news_there_is_no_epoch_until_something_can_be_settled() -> None:
    run = Run(PaperLog({ONE: spread(10)}))
    assert run.plan(NOW - 9000)
    watermark_ms = NOW - 8000 - LATENESS_MS
    assert not run.plan(NOW - 8000)
    assert not run.plan(NOW - 8000, settles_after_ms=watermark_ms)
    assert run.planner.epoch.number == 1
    assert run.plan(NOW - 8000, settles_after_ms=watermark_ms - 1)
    assert run.planner.epoch.number == 2
    assert (run.ranges, run.tick.watermark_ms) == ({}, watermark_ms)


def test_a_partition_that_vanishes_for_a_while_is_gone_on_with() -> None:
    run = Run(PaperLog({ONE: spread(5), OTHER: spread(5)}))
    assert run.plan()
    kept = run.log.times.pop(OTHER)
    run.log.append(ONE, NOW)
    assert run.plan()
    assert run.tick.places == {"orders": {0: 6}, "us.orders": {0: 5}}
    run.log.append(OTHER, *kept, NOW)
    assert run.plan()
    assert run.ranges == {OTHER: [(5, 6)]}


def test_the_watermark_never_goes_back() -> None:
    run = Run(PaperLog({ONE: spread(5)}))
    assert run.plan(NOW - 1000)
    before = run.tick.watermark_ms
    run.log.append(ONE, NOW)
    assert run.plan(NOW - 30_000)
    assert run.tick.watermark_ms == before


class Clock:
    """Shows the time that it was set to."""

    def __init__(self) -> None:
        self.now_ms = NOW

    def time(self) -> float:
        return self.now_ms / 1000


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of planners."""
    made = Clock()
    monkeypatch.setattr(planner_module, "time", made)
    return made


def test_nobody_is_waited_for_longer_than_allowed(clock: Clock) -> None:
    run = Run(PaperLog({ONE: spread(5)}))
    assert run.plan(0)
    assert run.tick.watermark_ms == NOW - WAIT_MAX_MS - LATENESS_MS
    clock.now_ms += 1000
    assert run.plan(0, settles_after_ms=0)
    assert run.tick.watermark_ms == NOW + 1000 - WAIT_MAX_MS - LATENESS_MS


def test_what_an_open_transaction_hides_is_waited_for(clock: Clock) -> None:
    run = Run(PaperLog({ONE: spread(5), OTHER: spread(5)}))
    assert run.plan(NOW + 3_600_000)
    assert run.tick.watermark_ms == NOW - LATENESS_MS
    clock.now_ms += 1000
    run.log.append(ONE, NOW, NOW)
    run.log.append(OTHER, NOW)
    run.log.hidden[ONE] = 6
    assert run.plan(NOW + 3_600_000)
    assert run.ranges == {ONE: [(5, 6)], OTHER: [(5, 6)]}
    assert run.tick.watermark_ms == NOW - LATENESS_MS
    clock.now_ms += 1000
    run.log.hidden.clear()
    assert run.plan(NOW + 3_600_000)
    assert run.ranges == {ONE: [(6, 7)]}
    assert run.tick.watermark_ms == NOW + 2000 - LATENESS_MS


def test_too_much_for_one_epoch_is_read_in_the_order_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner_module, "_MOST", 20)
    run = Run(PaperLog({ONE: spread(40, 100), OTHER: spread(10, 400)}))
    seen: list[OffsetRange] = []
    watermarks = [NO_WATERMARK]
    while run.plan(NOW):
        assert sum(end - first for pieces in run.ranges.values() for first, end in pieces) <= 20
        seen += [OffsetRange(where, *piece) for where, pieces in run.ranges.items() for piece in pieces]
        watermarks.append(run.tick.watermark_ms)
        for where, times in run.log.times.items():
            unread = times[run.tick.places[where.topic][0] :]
            assert min(unread, default=NOW) - LATENESS_MS >= watermarks[-1]
    assert joined(seen) == {ONE: [(0, 40)], OTHER: [(0, 10)]}
    assert watermarks == sorted(watermarks)
    assert len(watermarks) >= 4


@given(st.lists(st.integers(0, 400), min_size=1, max_size=6), st.integers(1, 5))
def test_tasks_share_what_there_is_and_one_tells_the_ticks(sizes: list[int], tasks: int) -> None:
    log = PaperLog({TopicPartition("orders", number): [BEGAN] * size for number, size in enumerate(sizes)})
    run = Run(log, tasks=tasks)
    assert run.plan()
    assert len(run.tasks) <= tasks
    assert run.ranges == {where: [(0, len(times))] for where, times in log.times.items() if times}
    ranges = [item for task in run.tasks for item in task.ranges]
    assert sum(item.end - item.first for item in ranges) == sum(sizes)
    assert [bool(task.ticks) for task in run.tasks] == [True] + [False] * (len(run.tasks) - 1)
    assert all(task.ticks or task.ranges for task in run.tasks)


def test_views_are_read_in_the_first_epoch_only() -> None:
    log = PaperLog({ONE: spread(5), VIEW: spread(7), TopicPartition(VIEW.topic, 1): spread(3)})
    log.firsts[VIEW] = 2
    run = Run(log, views=True)
    assert run.plan()
    ranges = [item for task in run.tasks for item in task.view_ranges]
    assert sorted(ranges) == [OffsetRange(VIEW, 2, 7), OffsetRange(TopicPartition(VIEW.topic, 1), 0, 3)]
    assert all(task.views == {VIEW.topic: "orders"} for task in run.tasks)
    log.append(ONE, NOW)
    assert run.plan()
    assert [item for task in run.tasks for item in task.view_ranges] == []


# -- after an interruption ----------------------------------------------------------------------------------------


def test_the_first_epoch_reads_from_the_oldest_that_waits_and_every_bucket_knows_what_it_has_seen() -> None:
    log = PaperLog({ONE: spread(20), OTHER: spread(20, 50)})
    read = places({ONE: 15, OTHER: 20})
    run = Run(log, written_by(2, read, mark(BEGAN + 500, oldest_ms=BEGAN + 700)))
    assert run.planner.epoch.watermark_ms == BEGAN + 500
    assert run.plan()
    assert run.ranges == {ONE: [(7, 20)], OTHER: [(14, 20)]}
    for tick in run.ticks.values():
        assert tick.resumption is not None
        assert (tick.resumption.watermark_ms, tick.resumption.places) == (BEGAN + 500, read)
    assert run.plan(settles_after_ms=0)
    assert run.tick.resumption is None


def test_where_nothing_waits_it_reads_from_the_bucket_that_is_furthest_behind() -> None:
    one = written(0, places({ONE: 5, OTHER: 9}), {bucket: mark(BEGAN) for bucket in range(0, BUCKETS, 2)})
    other = written(1, places({ONE: 8, OTHER: 2}), {bucket: mark(BEGAN) for bucket in range(1, BUCKETS, 2)})
    run = Run(PaperLog({ONE: spread(10), OTHER: spread(10)}), [one, other])
    assert run.plan()
    assert run.ranges == {ONE: [(5, 10)], OTHER: [(2, 10)]}
    seen = {bucket: tick.resumption.places for bucket, tick in run.ticks.items() if tick.resumption}
    assert (seen[0]["orders"], seen[1]["orders"]) == ({0: 5}, {0: 8})


def test_the_first_epoch_reads_to_the_bucket_that_is_furthest_ahead_however_much_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planner_module, "_MOST", 4)
    one = written(0, places({ONE: 2}), {bucket: mark(BEGAN) for bucket in range(0, BUCKETS, 2)})
    other = written(1, places({ONE: 30}), {bucket: mark(BEGAN) for bucket in range(1, BUCKETS, 2)})
    run = Run(PaperLog({ONE: spread(40)}), [one, other])
    assert run.plan()
    assert run.ranges == {ONE: [(2, 30)]}
    assert run.plan()
    assert run.ranges[ONE][0][0] == 30


def test_a_bucket_that_never_was_told_begins_without_a_watermark() -> None:
    only = written(0, places({ONE: 5}), {0: mark(BEGAN + 900)})
    run = Run(PaperLog({ONE: spread(10)}), [only])
    assert run.planner.epoch.watermark_ms == NO_WATERMARK
    assert run.plan()
    assert (run.ticks[0].resumption is None, run.ticks[1].resumption is None) == (False, True)


def test_the_watermark_goes_on_from_where_all_buckets_were() -> None:
    run = Run(PaperLog({ONE: spread(10)}), written_by(2, places({ONE: 10}), mark(NOW + 5000)))
    assert run.plan()
    assert run.tick.watermark_ms == NOW + 5000


def test_what_was_deleted_before_it_was_read_is_said_and_the_rest_is_read(caplog: pytest.LogCaptureFixture) -> None:
    log = PaperLog({ONE: spread(20)})
    log.firsts[ONE] = 12
    run = Run(log, written_by(2, places({ONE: 9}), mark(BEGAN, oldest_ms=BEGAN + 300)))
    with caplog.at_level(logging.ERROR):
        assert run.plan()
    assert run.ranges == {ONE: [(12, 20)]}
    assert "orders-0 was read to offset 9, but holds 12 to 20 now" in caplog.text


def test_what_waits_and_was_deleted_cannot_be_read_again_and_that_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    log = PaperLog({ONE: spread(20)})
    log.firsts[ONE] = 12
    run = Run(log, written_by(2, places({ONE: 15}), mark(BEGAN, oldest_ms=BEGAN + 300)))
    with caplog.at_level(logging.ERROR):
        assert run.plan()
    assert run.ranges == {ONE: [(12, 20)]}
    assert not caplog.text


def test_a_topic_that_was_made_anew_is_read_from_its_beginning(caplog: pytest.LogCaptureFixture) -> None:
    run = Run(PaperLog({ONE: spread(4)}), written_by(2, places({ONE: 90}), mark(BEGAN)))
    with caplog.at_level(logging.ERROR):
        assert run.plan()
    assert run.ranges == {ONE: [(0, 4)]}
    assert run.tick.places == {"orders": {0: 4}}
    assert "orders-0 was read to offset 90, but holds 0 to 4 now" in caplog.text


@pytest.mark.parametrize("start", [-2, LATEST])
def test_partitions_that_came_meanwhile_are_read_from_their_beginning(start: int) -> None:
    log = PaperLog({ONE: spread(10), NEW: spread(3)})
    run = Run(log, written_by(2, places({ONE: 10}), mark(BEGAN)), start=start)
    assert run.plan()
    assert run.ranges == {NEW: [(0, 3)]}


def test_a_topic_that_is_gone_is_forgotten() -> None:
    run = Run(PaperLog({ONE: spread(10)}), written_by(2, places({ONE: 8, OTHER: 70}), mark(BEGAN)))
    assert run.plan()
    assert run.ranges == {ONE: [(8, 10)]}
    assert run.tick.places == {"orders": {0: 10}}
