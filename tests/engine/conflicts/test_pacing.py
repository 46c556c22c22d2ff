"""An epoch reads all there is, or a part of it that ends at the same time everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from heliograph.engine.conflicts.pacing import Reach, reach
from heliograph.model import TopicPartition
from tests.engine.conflicts.paper_log import PaperLog

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("us.orders", 0)
FINEST_MS = 50
Offsets = dict[TopicPartition, int]

_times = st.lists(st.integers(0, 3000), max_size=25).map(sorted)


@st.composite
def _backlogs(draw: st.DrawFn) -> tuple[PaperLog, Offsets]:
    log = PaperLog({ONE: draw(_times), OTHER: draw(_times)})
    return log, {where: draw(st.integers(0, len(times))) for where, times in log.times.items()}


def _reached(log: PaperLog, places: Offsets, after_ms: int, until_ms: int, most: int) -> Reach:
    latest = log.latest(log.times)
    return reach(places, latest, lambda time_ms: log.at_time(latest, time_ms), after_ms, until_ms, most)


def _size(places: Offsets, ends: Mapping[TopicPartition, int]) -> int:
    return sum(max(0, end - places[where]) for where, end in ends.items())


_asked = st.tuples(st.integers(0, 3200), st.integers(0, 3200), st.integers(0, 30))


@given(_backlogs(), _asked)
def test_what_is_read_lies_between_what_was_read_and_what_is_there(
    backlog: tuple[PaperLog, Offsets], asked: tuple[int, int, int]
) -> None:
    log, places = backlog
    ends, complete_ms = _reached(log, places, *asked)
    latest = log.latest(log.times)
    assert ends.keys() == latest.keys()
    assert all(places[where] <= end <= latest[where] for where, end in ends.items())
    assert complete_ms <= asked[1]


@given(_backlogs(), _asked)
def test_nothing_of_an_earlier_time_than_the_one_that_is_told_is_left_out(
    backlog: tuple[PaperLog, Offsets], asked: tuple[int, int, int]
) -> None:
    log, places = backlog
    ends, complete_ms = _reached(log, places, *asked)
    if complete_ms > asked[0]:  # up to that time all had been read before
        assert all(time_ms >= complete_ms for where, end in ends.items() for time_ms in log.times[where][end:])


@given(_backlogs(), _asked)
def test_if_it_is_too_much_nothing_is_read_whose_time_has_not_come(
    backlog: tuple[PaperLog, Offsets], asked: tuple[int, int, int]
) -> None:
    log, places = backlog
    after_ms, until_ms, most = asked
    ends, _ = _reached(log, places, after_ms, until_ms, most)
    if _size(places, log.latest(log.times)) > most:
        assert all(
            time_ms < until_ms for where, end in ends.items() for time_ms in log.times[where][places[where] : end]
        )


@given(_backlogs(), _asked)
def test_it_is_too_much_only_if_it_is_all_of_one_time(
    backlog: tuple[PaperLog, Offsets], asked: tuple[int, int, int]
) -> None:
    log, places = backlog
    after_ms, until_ms, most = asked
    ends, complete_ms = _reached(log, places, after_ms, until_ms, most)
    if _size(places, ends) > most + len(log.times):  # each may get one at least
        before = log.at_time(log.latest(log.times), complete_ms - FINEST_MS)
        assert _size(places, before) == 0


@given(_backlogs(), _asked)
def test_it_gets_on_whenever_there_is_something_whose_time_has_come(
    backlog: tuple[PaperLog, Offsets], asked: tuple[int, int, int]
) -> None:
    log, places = backlog
    after_ms, until_ms, most = asked
    ends, complete_ms = _reached(log, places, after_ms, until_ms, max(1, most))
    due = log.at_time(log.latest(log.times), until_ms)
    assert bool(_size(places, ends)) >= bool(_size(places, due))
    assert complete_ms >= min(after_ms, until_ms)


@given(_backlogs(), st.integers(1, 10))
def test_epoch_after_epoch_all_is_read_once_in_the_order_of_time(backlog: tuple[PaperLog, Offsets], most: int) -> None:
    log, places = backlog
    after_ms, rounds = 0, 0
    while _size(places, log.latest(log.times)):
        ends, complete_ms = _reached(log, places, after_ms, 4000, most)
        assert complete_ms >= after_ms
        assert _size(places, ends) > 0
        places, after_ms, rounds = dict(ends), complete_ms, rounds + 1
        assert rounds <= 60
    assert after_ms <= 4000


def test_all_is_read_if_it_is_not_too_much_also_what_is_newer() -> None:
    log = PaperLog({ONE: [1, 2, 900]})
    assert _reached(log, {ONE: 0}, 0, 500, 3) == ({ONE: 3}, 500)


def test_what_is_newer_waits_if_it_is_too_much() -> None:
    log = PaperLog({ONE: [1, 2, 900]})
    assert _reached(log, {ONE: 0}, 0, 500, 2) == ({ONE: 2}, 500)


def test_a_part_ends_at_the_same_time_everywhere() -> None:
    log = PaperLog({ONE: range(0, 10_000, 100), OTHER: range(0, 10_000, 1000)})
    ends, complete_ms = _reached(log, {ONE: 0, OTHER: 0}, 0, 10_000, 55)
    assert ends == log.at_time(log.latest(log.times), complete_ms)
    assert 45 <= sum(ends.values()) <= 55


def test_too_much_of_the_same_time_is_read_as_a_whole() -> None:
    log = PaperLog({ONE: [1000] * 20 + [5000]})
    ends, complete_ms = _reached(log, {ONE: 0}, 0, 9000, 3)
    assert ends == {ONE: 20}
    assert 1000 < complete_ms <= 1000 + FINEST_MS


def test_what_is_older_than_all_that_was_read_is_read_in_parts_and_moves_no_time() -> None:
    log = PaperLog({ONE: range(6000), OTHER: [9000] * 5})
    ends, complete_ms = _reached(log, {ONE: 0, OTHER: 0}, 8000, 9500, 100)
    assert 0 < ends[ONE] <= 101
    assert complete_ms == 8000


def test_it_goes_on_where_it_was_also_if_that_is_later() -> None:
    log = PaperLog({ONE: range(0, 10_000, 100), OTHER: range(0, 10_000, 100)})
    ends, _ = _reached(log, {ONE: 90, OTHER: 0}, 0, 10_000, 20)
    assert ends[ONE] == 90
    assert 0 < ends[OTHER] <= 20
