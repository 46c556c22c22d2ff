from __future__ import annotations

import pytest

from heliograph.control.lag_watch import PartitionLag
from heliograph.control.stuck import STUCK_SECONDS, StuckPartitions
from heliograph.engine.pulse import IDLE
from heliograph.model import Assignment, TopicPartition

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
LANES = [[Assignment(where, TopicPartition(f"a.{where.topic}", where.partition))] for where in (FIRST, SECOND)]
WAITS = PartitionLag(position=9, end=20, records=10, seconds=5.0)
LEVEL = PartitionLag(position=19, end=20, records=0, seconds=0.0)


def look(
    stuck: StuckPartitions,
    now: float,
    lag: PartitionLag = WAITS,
    doing: str = IDLE,
    aside: tuple[TopicPartition, ...] = (),
) -> list[TopicPartition]:
    """Only the first partition has records that wait."""
    return stuck.look(now, {FIRST: lag, SECOND: LEVEL}, LANES, {0: doing, 1: IDLE}, aside)


def test_a_partition_that_an_idle_lane_leaves_alone_is_noticed() -> None:
    stuck = StuckPartitions()
    found = [look(stuck, now) for now in range(int(STUCK_SECONDS) + 1)]
    assert found[-1] == [FIRST]
    assert not any(found[:-1])


@pytest.mark.parametrize("doing", ["copying", "waiting for brokers of a, which have 1 of its partitions", "starting"])
def test_one_whose_lane_is_at_work_or_waits_for_something_is_not(doing: str) -> None:
    stuck = StuckPartitions()
    assert not any(look(stuck, now, doing=doing) for now in range(1000))


def test_one_that_is_set_aside_is_not() -> None:
    stuck = StuckPartitions()
    assert not any(look(stuck, now, aside=(FIRST,)) for now in range(1000))


def test_one_that_moves_however_slowly_is_not() -> None:
    stuck = StuckPartitions()
    for now in range(1000):
        assert not look(stuck, now, PartitionLag(position=now // 50, end=2000, records=100, seconds=50.0))


def test_after_something_was_done_about_it_time_begins_anew() -> None:
    stuck = StuckPartitions()
    look(stuck, 0)
    stuck.forget()
    assert not look(stuck, STUCK_SECONDS)
    assert look(stuck, 2 * STUCK_SECONDS)
