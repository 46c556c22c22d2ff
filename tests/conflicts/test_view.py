"""All clusters come to the same decisions and the same view, whatever each of them saw first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import Decision, Essence
from heliograph.conflicts.resolvers.catalogue import RULES, make_resolver
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.conflicts.resolvers.resolver import Kept, Resolver
from heliograph.conflicts.resolvers.settling import settle
from heliograph.conflicts.timeline import Settled, Timeline
from heliograph.conflicts.view import Held, View
from heliograph.errors import RetryLater
from tests.conflicts.model import settled_of
from tests.conflicts.samples import WINDOW_MS, Write, as_read_on, conflict, record, writes

BOUNDS = Bounds(WINDOW_MS, 4 * WINDOW_MS)
END_OF_TIME = 10**9
SETTINGS = {"conflicts.prefer.clusters": "us, ap", "conflicts.crdt.fields": "likes: counter, tags: g-set"}
DOCUMENTS = st.sampled_from(
    [
        None,
        b"not JSON",
        b'{"likes":{"p":{"eu":1}},"name":"a"}',
        b'{"likes":{"p":{"eu":2,"us":1}},"tags":["x"]}',
        b'{"likes":{"n":{"us":3}},"tags":["y"],"name":"b"}',
    ]
)


class Seen(NamedTuple):
    """What a cluster has come to."""

    decisions: list[Essence]
    value: bytes | None


def resolver(rule: str, **more: str) -> Resolver:
    return make_resolver({**SETTINGS, "conflicts.resolver": rule, **more})


class Cluster:
    """Follows one key as a stream would: records come in, the watermark moves, state is put away and taken up."""

    def __init__(self, rule: Resolver) -> None:
        self._rule = rule
        self._view = View(rule)
        self._timeline = Timeline(BOUNDS)
        self._held: Held | None = None
        self._decisions: list[Essence] = []

    def receive(self, one: Candidate) -> None:
        if not self._timeline.add(one):
            self._held = self._view.after_record(self._held, one)

    def advance(self, watermark_ms: int) -> None:
        for found in self._timeline.take(watermark_ms):
            self.apply(found)
        self._timeline = Timeline.from_bytes(BOUNDS, self._timeline.to_bytes())
        self._held = self._held and Held.from_bytes(self._held.to_bytes())

    def apply(self, found: Settled) -> None:
        if isinstance(found, Candidate):
            self._held = self._view.after_record(self._held, found)
            return
        resolution = settle(self._rule, found)
        self._decisions.append(Decision.made(found, resolution, 0).essence)
        self._held = self._view.after_conflict(self._held, found, resolution)

    @property
    def seen(self) -> Seen:
        return Seen(self._decisions, None if self._held is None else self._held.value)


def followed(rule: Resolver, arriving: Sequence[Candidate], delays: Sequence[int]) -> Seen:
    """What a cluster comes to if no record is late."""
    cluster = Cluster(rule)
    for count, (one, delay) in enumerate(zip(arriving, delays, strict=True), 1):
        cluster.receive(one)
        cluster.advance(min((later.timestamp_ms for later in arriving[count:]), default=END_OF_TIME) - delay)
    cluster.advance(END_OF_TIME)
    return cluster.seen


def drawn(data: st.DataObject, rule: Resolver, cluster: str, history: Sequence[Write], gap: int) -> Seen:
    arriving = data.draw(st.permutations(as_read_on(cluster, history, gap)), label=f"arrival on {cluster}")
    delays = data.draw(st.lists(st.integers(0, 9), min_size=len(arriving), max_size=len(arriving)), label="delays")
    return followed(rule, arriving, delays)


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_clusters_that_see_the_same_records_in_any_order_agree(rule: str, data: st.DataObject) -> None:
    history = data.draw(writes(DOCUMENTS), label="history")
    here, there = (drawn(data, resolver(rule), cluster, history, gap) for cluster, gap in (("eu", 1), ("us", 7)))
    assert here == there


def chosen(rule: str, records: Sequence[Candidate]) -> bytes | None:
    """Who wins, said in the plainest way."""
    if rule == "first-writer-wins":
        return min(records, key=lambda one: one.order).value
    ranks = {"us": 2, "ap": 1} if rule == "prefer-cluster" else {}
    return max(records, key=lambda one: (ranks.get(one.origin, 0), *one.order)).value


@pytest.mark.parametrize("rule", ["last-writer-wins", "first-writer-wins", "prefer-cluster"])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_decisions_and_view_are_those_of_the_plain_model(rule: str, data: st.DataObject) -> None:
    history = data.draw(writes(), label="history")
    groups = [
        found.candidates if isinstance(found, Conflict) else (found,)
        for found in settled_of(as_read_on("eu", history, 1), BOUNDS)
    ]
    seen = drawn(data, resolver(rule), "us", history, 3)
    expected = [({one.identity for one in group}, chosen(rule, group)) for group in groups if len(group) > 1]
    assert [(set(identities), value) for _, identities, _, value, *_ in seen.decisions] == expected
    assert seen.value == (chosen(rule, groups[-1]) if groups else None)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), history=writes())
def test_the_view_of_the_last_writer_is_right_even_if_records_are_late(
    data: st.DataObject, history: list[Write]
) -> None:
    cluster = Cluster(resolver("last-writer-wins"))
    records = as_read_on("eu", history, 1)
    for one in data.draw(st.permutations(records), label="arrival"):
        cluster.receive(one)
        cluster.advance(data.draw(st.integers(980, 1080), label="watermark"))
    cluster.advance(END_OF_TIME)
    assert cluster.seen.value == (max(records, key=lambda one: one.order).value if records else None)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_merged_view_loses_no_count_even_if_records_are_late(data: st.DataObject) -> None:
    counts = st.integers(0, 9).map(lambda count: b'{"likes":{"p":{"eu":%d}}}' % count)
    records = as_read_on("eu", data.draw(writes(counts).filter(bool), label="history"), 1)
    cluster = Cluster(resolver("crdt"))
    for one in data.draw(st.permutations(records), label="arrival"):
        cluster.receive(one)
        cluster.advance(data.draw(st.integers(980, 1080), label="watermark"))
    cluster.advance(END_OF_TIME)
    highest = max(one.value or b"" for one in records)[-4:-3]
    assert cluster.seen.value == b'{"likes":{"n":{},"p":{"eu":%b},"value":%b}}' % (highest, highest)


@settings(max_examples=100, deadline=None)
@given(history=writes(), data=st.data(), rule=st.sampled_from(["last-writer-wins", "first-writer-wins"]))
def test_settled_things_may_come_in_any_order_and_twice(history: list[Write], data: st.DataObject, rule: str) -> None:
    found = settled_of(as_read_on("eu", history, 1), BOUNDS)
    in_order, mixed = Cluster(resolver(rule)), Cluster(resolver(rule))
    for one in found:
        in_order.apply(one)
    for one in data.draw(st.permutations([*found, *found]), label="order"):
        mixed.apply(one)
    assert mixed.seen.value == in_order.seen.value


def view_after(rule: Resolver, *records: Candidate) -> bytes | None:
    view, held = View(rule), None
    for one in records:
        held = view.after_record(held, one)
    assert held is not None
    return held.value


LIKES = b'{"likes":{"n":{},"p":{"%b":%d},"value":%d}}'


def test_a_later_write_replaces_what_a_conflict_left() -> None:
    rule = resolver("first-writer-wins")
    found = conflict(record("eu", 0, b"first"), record("us", 1, b"second"))
    held = View(rule).after_conflict(None, found, rule.resolve(found))
    assert held.value == b"first"
    assert View(rule).after_record(held, record("us", 20, b"later")).value == b"later"


def test_what_one_side_counted_is_not_lost_when_the_other_side_writes_alone() -> None:
    merged = view_after(
        resolver("crdt"), record("eu", 0, LIKES % (b"eu", 3, 3)), record("us", 50, LIKES % (b"us", 4, 4))
    )
    assert merged == b'{"likes":{"n":{},"p":{"eu":3,"us":4},"value":7}}'


def test_a_deletion_alone_empties_a_merged_view_and_nothing_from_before_comes_back() -> None:
    rule, before, gone = resolver("crdt"), record("eu", 0, LIKES % (b"eu", 3, 3)), record("us", 50, None)
    assert view_after(rule, before, gone) is None
    assert view_after(rule, gone, before) is None
    after = record("us", 90, LIKES % (b"us", 1, 1))
    assert view_after(rule, before, gone, after) == view_after(rule, gone, after, before) == after.value


def test_a_value_that_cannot_be_merged_is_held_as_it_is_until_the_next_one_that_can() -> None:
    rule, before, broken = resolver("crdt"), record("eu", 0, LIKES % (b"eu", 3, 3)), record("us", 50, b"?")
    after = record("us", 90, LIKES % (b"us", 4, 4))
    assert view_after(rule, before, broken) == b"?"
    assert view_after(rule, broken, before) == b"?"
    assert view_after(rule, before, broken, after) == b'{"likes":{"n":{},"p":{"eu":3,"us":4},"value":7}}'


@pytest.mark.parametrize("old", [b"?", None])
def test_an_old_deletion_or_value_that_cannot_be_merged_changes_nothing(old: bytes | None) -> None:
    newest = record("us", 50, LIKES % (b"us", 4, 4))
    assert view_after(resolver("crdt"), newest, record("eu", 0, old)) == newest.value


class Waits(Resolver):
    """A rule that lacks something now."""

    def resolve(self, conflict: Conflict) -> Resolution:
        raise RetryLater("in a moment")

    def keep(self, before: Kept, candidates: Sequence[Candidate], value: bytes | None) -> Kept:
        raise RetryLater("in a moment")


def test_what_may_be_possible_in_a_moment_is_not_settled_otherwise() -> None:
    with pytest.raises(RetryLater):
        View(Waits()).after_record(None, record("eu", 0))
    with pytest.raises(RetryLater):
        settle(Waits(), conflict(record("eu", 0), record("us", 0)))
