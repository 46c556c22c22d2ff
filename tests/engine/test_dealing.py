from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.engine.dealing import deal, fair_shares, is_worth_a_new_deal
from heliograph.model import Assignment, TopicPartition


def partition(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def assignment(number: int) -> Assignment:
    return Assignment(partition(number), TopicPartition("a.t", number))


def loads(*sizes: int) -> dict[TopicPartition, int]:
    return {partition(number): size for number, size in enumerate(sizes)}


def numbers(lanes: list[list[Assignment]]) -> list[set[int]]:
    return [{item.source.partition for item in lane} for lane in lanes]


def test_without_loads_every_lane_gets_as_many() -> None:
    assert numbers(deal(map(assignment, range(6)), {}, 3)) == [{0, 3}, {1, 4}, {2, 5}]


def test_a_busy_partition_has_a_lane_for_itself() -> None:
    assert numbers(deal(map(assignment, range(4)), loads(10, 1000, 20, 30), 2)) == [{1}, {0, 2, 3}]


@given(st.lists(st.integers(0, 10**9), max_size=30), st.integers(1, 6))
def test_every_partition_is_dealt_once(sizes: list[int], lanes: int) -> None:
    dealt = deal(map(assignment, range(len(sizes))), loads(*sizes), lanes)
    assert sorted(item.source.partition for lane in dealt for item in lane) == list(range(len(sizes)))


@given(st.lists(st.integers(0, 10**9), max_size=30), st.integers(1, 6))
def test_a_fresh_deal_is_never_dealt_anew(sizes: list[int], lanes: int) -> None:
    dealt = deal(map(assignment, range(len(sizes))), loads(*sizes), lanes)
    assert not is_worth_a_new_deal(dealt, loads(*sizes))


def test_two_busy_partitions_on_one_lane_are_separated() -> None:
    lanes = [[assignment(0), assignment(1)], [assignment(2), assignment(3)]]
    assert is_worth_a_new_deal(lanes, loads(500, 500, 1, 1))
    assert not is_worth_a_new_deal(lanes, loads(500, 500, 400, 400))


def test_one_busy_partition_cannot_be_shared() -> None:
    assert not is_worth_a_new_deal([[assignment(0)], [assignment(1)]], loads(1000, 1))


def test_an_idle_flow_stays_as_it_is() -> None:
    assert not is_worth_a_new_deal([[assignment(0), assignment(1)], []], {})


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 40))
def test_slots_are_shared_fairly(wishes: list[int], slots: int) -> None:
    shares = fair_shares(wishes, slots)
    assert all(1 <= share <= wish for share, wish in zip(shares, wishes, strict=True))
    assert sum(shares) == min(sum(wishes), max(slots, len(wishes)))
    for share, wish in zip(shares, wishes, strict=True):
        assert share == wish or share >= max(shares) - 1, "whoever got less than another wished for no more"
