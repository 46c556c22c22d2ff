"""Bounded counting: exact while there is room, honest bounds when there is none."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heliograph.control.conflicts.top_counts import Count, TopCounts, most

STREAMS = st.lists(st.integers(0, 12), max_size=120)


def counted(stream: list[int], room: int) -> TopCounts[int]:
    counts: TopCounts[int] = TopCounts(room)
    for item in stream:
        counts.add(item)
    return counts


@given(STREAMS)
def test_with_room_for_all_the_counts_are_exact(stream: list[int]) -> None:
    found = most([counted(stream, 13)], 13)
    assert {entry.item: entry.count for entry in found} == Counter(stream)
    assert [entry.count for entry in found] == sorted(Counter(stream).values(), reverse=True)
    assert all(entry.is_exact for entry in found)


@given(STREAMS, st.integers(1, 5))
def test_without_room_no_count_is_too_high_and_exact_ones_are(stream: list[int], room: int) -> None:
    counts = counted(stream, room)
    assert len(list(counts.items())) <= room
    for item in range(13):
        assert counts.least(item) <= Counter(stream)[item]
        if counts.is_sure(item):
            assert counts.least(item) == Counter(stream)[item]


@given(st.lists(STREAMS, max_size=4), st.integers(2, 5))
def test_parts_together_keep_their_bounds(streams: list[list[int]], room: int) -> None:
    truth: Counter[int] = Counter()
    for stream in streams:
        truth.update(stream)
    for entry in most([counted(stream, room) for stream in streams], 13):
        assert entry.count <= truth[entry.item]
        assert not entry.is_exact or entry.count == truth[entry.item]


@given(STREAMS, st.integers(1, 5))
def test_what_comes_more_often_than_its_share_is_never_lost(stream: list[int], room: int) -> None:
    held = set(counted(stream, room).items())
    assert {item for item, count in Counter(stream).items() if count > len(stream) / room} <= held


def test_a_key_that_leads_among_many_rare_ones_is_found_with_its_count() -> None:
    counts: TopCounts[str] = TopCounts(100)
    for number in range(5_000):
        counts.add("hot")
        counts.add(f"rare-{number}")
    assert most([counts], 1) == [Count("hot", 5_000)]
