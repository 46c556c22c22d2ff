"""What makes a record the same everywhere, and where it stands among others."""

from __future__ import annotations

import msgspec
import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.transforms.message import Header
from tests.conflicts.samples import Write, as_read_on, record


def test_a_record_is_the_same_wherever_it_is_read() -> None:
    (here,), (there,) = (as_read_on(cluster, [Write("us", 7, b"x")], gap) for cluster, gap in (("eu", 3), ("us", 5)))
    assert here.topic != there.topic
    assert here.identity == there.identity


def test_records_with_another_origin_time_or_value_are_others() -> None:
    one = record("us", 7, b"x")
    others = [record("eu", 7, b"x"), record("us", 8, b"x"), record("us", 7, b"y"), record("us", 7, None)]
    assert len({one.identity, *(other.identity for other in others)}) == 5


def test_time_stands_before_all_else() -> None:
    assert record("us", 7, b"z", offset=9).order < record("ap", 8, b"a", offset=1).order


def test_of_equal_times_the_alias_decides_and_no_offset() -> None:
    assert record("eu", 7, b"z", offset=9).order < record("us", 7, b"a", offset=1).order


def test_within_one_log_its_order_decides_even_if_the_clock_stood_still() -> None:
    created, paid = record("us", 7, b"x", offset=1), record("us", 7, b"a", offset=2)
    assert created.order < paid.order


def test_a_tombstone_can_be_ordered_beside_values() -> None:
    assert record("us", 7, None).order < record("us", 7, b"").order


def test_of_a_record_that_came_twice_the_shorter_way_counts_and_then_the_later_place() -> None:
    first, again = record("us", 7, offset=3), record("us", 7, offset=5)
    detour = msgspec.structs.replace(first, topic="west.us.orders", offset=9)
    assert first.preferred(again) == again.preferred(first) == again
    assert first.preferred(detour) == detour.preferred(first) == first


def test_the_last_header_of_a_name_counts() -> None:
    headers = (Header("h", b"1"), Header("h", b"2"), Header("i", b"3"))
    assert record("us", 7, headers=headers).header("h") == b"2"
    assert record("us", 7, headers=headers).header("x") is None


@pytest.mark.parametrize("reader", ["ap", "eu", "us"])
def test_of_equal_times_all_clusters_find_the_same_order(reader: str) -> None:
    """What a topic is called differs from cluster to cluster; where a record was written does not."""
    read = [
        Candidate(origin, "orders", "orders" if origin == reader else f"{origin}.orders", 0, offset, 7, b"k", b"v")
        for origin, offset in (("us", 1), ("ap", 9), ("eu", 5))
    ]
    assert [item.origin for item in sorted(read, key=lambda item: item.order)] == ["ap", "eu", "us"]
