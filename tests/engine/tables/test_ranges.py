from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from heliograph.engine.tables.ranges import cut, limited
from heliograph.model import TopicPartition

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)
sizes = some.lists(some.integers(0, 1000), min_size=1, max_size=5)


@given(sizes, some.integers(1, 20))
def test_pieces_cover_everything_once_and_are_as_many_as_wanted(counts: list[int], at_least: int) -> None:
    starts = {TopicPartition("t", number): 7 for number in range(len(counts))}
    ends = {where: 7 + counts[where.partition] for where in starts}
    pieces = cut(starts, ends, at_least)
    for where, start in starts.items():
        own = [piece for piece in pieces if piece.where == where]
        assert [offset for piece in own for offset in range(piece.first, piece.end)] == list(range(start, ends[where]))
    assert all(piece.first < piece.end for piece in pieces)
    assert len(pieces) >= min(at_least, sum(counts)) - len(counts)


def test_a_limit_is_shared_by_how_much_there_is() -> None:
    assert limited({ZERO: 0, ONE: 0}, {ZERO: 900, ONE: 100}, 100) == {ZERO: 90, ONE: 10}


@given(sizes, some.integers(1, 500))
def test_a_limit_never_stops_progress_and_never_goes_past_the_end(counts: list[int], most: int) -> None:
    starts = {TopicPartition("t", number): 0 for number in range(len(counts))}
    ends = {where: counts[where.partition] for where in starts}
    chosen = limited(starts, ends, most)
    assert all(chosen[where] <= end for where, end in ends.items())
    assert all(chosen[where] > 0 for where, end in ends.items() if end)
    assert sum(chosen.values()) <= max(most, 0) + len(counts)
