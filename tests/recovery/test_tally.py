"""Results of slices, put together."""

from __future__ import annotations

from heliograph.kafka.access import Access
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.verification.comparison import Rules, SliceResult
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.plan import PlannedPartition, VerificationPlan
from heliograph.recovery.verification.segments import Coverage, Pair, Segment
from heliograph.recovery.verification.verification import Progress, Tally

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)


def plan(slices: int) -> VerificationPlan:
    parts = [Segment(Pair(n * 10, n * 10), Pair(n * 10 + 10, n * 10 + 10), 1000) for n in range(slices)]
    planned = PlannedPartition(SOURCE, TARGET, Coverage(parts, ["something"], 7), False)
    access = Access("a", ["localhost:1"])
    return VerificationPlan("a->b", access, access, Rules(), [planned], ["all else"])


def difference(offset: int) -> Difference:
    return Difference(SOURCE, TARGET, Record(offset, 0, b"k", b"v"), None)


def test_a_slice_that_is_told_twice_counts_once_and_the_first_difference_is_named() -> None:
    told: list[Progress] = []
    tally = Tally(plan(3), told.append)
    for number in (2, 0, 2, 1, 1):
        tally.add(SliceResult(number, 10, 900, 1, difference=difference(number * 10 + 3) if number else None))
    result = tally.result()
    assert (result.records, result.bytes) == (30, 2700)
    assert [str(item) for item in result.differences] == [str(difference(13))]
    assert not result.is_equal
    assert [state.done_bytes for state in told] == [0, 1000, 2000, 2000, 3000, 3000]
    assert told[-1].seconds_left == 0
    assert result.left_out == ["all else", "t-0: something"]
    assert result.waiting == 7


def test_what_is_guessed_on_the_way_does_not_count() -> None:
    told: list[Progress] = []
    tally = Tally(plan(2), told.append)
    tally.guess(0.5)
    assert (told[-1].done_bytes, told[-1].slices) == (1000, 1)
    for number in (0, 1):
        tally.add(SliceResult(number, 10, 900, 1, left_out="removed" if number else ""))
    assert tally.result().records == 20
    assert tally.result().left_out == ["all else", "t-0: something", "t-0: removed"]
    assert tally.result().is_equal


def test_a_plan_shows_no_credentials() -> None:
    assert "localhost" not in repr(plan(1))
