"""Graphs of flows that keep topic names: what is left out, and which graphs would repeat records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.policy.filters import DefaultTopicFilter
from heliograph.policy.same_names import Repetition, SameNames, Way, left_out, repetitions

_MOST_COPIES = 3  # of one record in one place: enough to see that it is not one


def ways(text: str) -> set[Way]:
    """`ab bc` is a->b and b->c."""
    return {Way(*pair) for pair in text.split()}


def mesh(aliases: str) -> set[Way]:
    """All pairs, both ways."""
    return {Way(*pair) for pair in permutations(aliases, 2)}


def arrivals(graph: Collection[Way], origin: str) -> Counter[str]:
    """How often a record comes to each cluster: logs that grow record by record, and flows that read them.

    A copy knows only which cluster's flow has written it, as producer ids tell.
    """
    logs: dict[str, list[str | None]] = {alias: [] for way in graph for alias in way}
    logs[origin].append(None)
    positions = dict.fromkeys(graph, 0)
    has_moved = True
    while has_moved:
        has_moved = False
        for way in graph:
            log = logs[way.source]
            if positions[way] == len(log):
                continue
            writer = log[positions[way]]
            positions[way] += 1
            has_moved = True
            is_passed_on = writer is None or (writer != way.target and Way(writer, way.target) not in graph)
            if is_passed_on and len(logs[way.target]) < _MOST_COPIES:
                logs[way.target].append(way.source)
    return Counter({alias: len(log) for alias, log in logs.items()})


def reachable(graph: Collection[Way], origin: str) -> set[str]:
    found = {origin}
    while more := {way.target for way in graph if way.source in found} - found:
        found |= more
    return found


@pytest.mark.parametrize(
    ("text", "way", "expected"),
    [
        ("ab ba", "ab", {"b"}),
        ("ab", "ab", {"b"}),  # a flow back may have run before
        ("ab bc", "bc", {"c"}),
        ("ab bc ac", "bc", {"c", "a"}),
        ("ab bc ac ba ca cb", "bc", {"c", "a"}),
        ("ah ha bh hb", "hb", {"b"}),
        ("ab bc cd ad", "cd", {"d"}),  # what a wrote comes by way of b, and a->d does not show in b's ledger
    ],
)
def test_what_a_flow_leaves_out(text: str, way: str, expected: set[str]) -> None:
    assert left_out(ways(text), Way(*way)) == expected


@pytest.mark.parametrize(
    "graph",
    [ways("ab"), ways("ab ba"), ways("ab bc"), mesh("abc"), mesh("abcde"), ways("ah ha bh hb ch hc"), ways("ab ac")],
    ids=["one way", "both ways", "chain", "mesh of three", "mesh of five", "star", "fan-out"],
)
def test_graphs_without_repetition(graph: set[Way]) -> None:
    assert not list(repetitions(graph))


def test_a_ring_brings_records_home() -> None:
    found = list(repetitions(ways("ab bc ca")))
    assert found[0] == Repetition(("a", "b", "c", "a"), ("a",))
    assert found[0].is_home
    assert set(found[0].remedies()) == ways("ac ba cb")
    assert not list(repetitions(ways("ab bc ca") | set(found[0].remedies())))


def test_a_mesh_with_a_hole_brings_records_twice() -> None:
    [found] = repetitions(mesh("abcd") - ways("ad"))
    assert found == Repetition(("a", "c", "d"), ("a", "b", "d"))
    assert not found.is_home
    assert found.remedies() == [Way("a", "d")]


def test_only_flows_that_mirror_a_topic_count_for_it() -> None:
    orders, everything = DefaultTopicFilter(), DefaultTopicFilter()
    orders.configure({"topics": "orders"})
    flows = ((Way("a", "b"), everything), (Way("b", "c"), everything), (Way("a", "c"), orders))
    same_names = SameNames(flows)
    assert same_names.writers_left_out("orders", Way("b", "c")) == {"a", "c"}
    assert same_names.writers_left_out("payments", Way("b", "c")) == {"c"}
    assert same_names.origins_left_out("orders", Way("b", "c")) == {"a", "c"}
    assert same_names.origins_left_out("payments", Way("b", "c")) == {"c"}


_GRAPHS = st.sets(st.sampled_from(sorted(mesh("abcde"))), min_size=1, max_size=20)


@given(_GRAPHS)
@example(mesh("abcd") - ways("ad"))
@example(ways("ab bc ca"))
@example(ways("ab bc cd ad"))
def test_what_is_accepted_arrives_once_and_never_at_home(graph: set[Way]) -> None:
    refused = {found.way[0] for found in repetitions(graph)}
    for origin in {way.source for way in graph}:
        counts = arrivals(graph, origin)
        once = dict.fromkeys(reachable(graph, origin), 1)
        assert (+counts == once) == (origin not in refused)
        assert set(+counts) == set(once), "nothing may be missing, be it accepted or not"
