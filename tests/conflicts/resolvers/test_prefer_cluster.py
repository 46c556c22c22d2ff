"""Some clusters count more than others."""

from __future__ import annotations

import pytest

from heliograph.conflicts.resolvers.prefer_cluster import PreferCluster
from tests.conflicts.samples import conflict, record


def preferring(clusters: str) -> PreferCluster:
    resolver = PreferCluster()
    resolver.configure({"conflicts.prefer.clusters": clusters})
    return resolver


def test_the_last_record_of_the_first_cluster_in_the_list_wins() -> None:
    records = record("eu", 1, b"1"), record("eu", 2, b"2"), record("us", 3, b"3"), record("ap", 4, b"4")
    assert preferring("eu, us").resolve(conflict(*records)).value == b"2"
    assert preferring("us, eu").resolve(conflict(*records)).value == b"3"


def test_a_cluster_that_took_no_part_is_passed_over() -> None:
    resolution = preferring("sa, eu").resolve(conflict(record("eu", 1, b"1"), record("us", 3, b"3")))
    assert (resolution.value, resolution.note) == (b"1", "")


def test_among_clusters_that_are_not_listed_the_last_writer_wins_and_the_note_says_so() -> None:
    resolution = preferring("sa").resolve(conflict(record("eu", 1, b"1"), record("us", 3, b"3")))
    assert (resolution.value, resolution.note) == (b"3", "no preferred cluster took part")


@pytest.mark.parametrize("clusters", ["", "eu,,us", "eu, eu"])
def test_a_list_that_says_nothing_or_a_thing_twice_is_refused(clusters: str) -> None:
    with pytest.raises(ValueError, match=r"conflicts\.prefer\.clusters"):
        preferring(clusters)
