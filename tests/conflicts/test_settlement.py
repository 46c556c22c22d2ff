"""What is told of what a bucket has found, and what the views hold after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.bucket import Bucket, Found, Key
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import decode_decision
from heliograph.conflicts.held_pages import HeldPages
from heliograph.conflicts.resolvers.catalogue import make_resolver
from heliograph.conflicts.resolvers.resolver import Resolver
from heliograph.conflicts.settlement import Change, Settlement, Told
from heliograph.conflicts.view import Held, View
from heliograph.errors import RetryLater
from tests.conflicts.samples import conflict, record
from tests.conflicts.test_view import Waits

LAST = make_resolver({})
COUNTER = make_resolver({"conflicts.resolver": "crdt", "conflicts.crdt.fields": "likes: counter"})
PLACE: Key = ("orders", b"k")


def likes(who: str, count: int) -> bytes:
    return b'{"likes":{"p":{"%b":%d}}}' % (who.encode(), count)


class Store:
    """What views hold; counts what was put."""

    def __init__(self) -> None:
        self.held: dict[Key, Held] = {}
        self.puts: Counter[Key] = Counter()

    def get(self, place: Key) -> Held | None:
        return self.held.get(place)

    def put(self, place: Key, held: Held) -> None:
        self.held[place] = held
        self.puts[place] += 1

    @property
    def values(self) -> Mapping[Key, bytes | None]:
        return {place: held.value for place, held in self.held.items()}


def settle(
    store: Store | None, *found: Conflict | Candidate, late: tuple[Candidate, ...] = (), rule: Resolver = LAST
) -> tuple[list[Told], list[Change]]:
    return Settlement(rule, store).settle(Found(list(found), list(late)), 77)


def test_a_conflict_is_told_with_its_topic_and_key_and_when_it_was_decided() -> None:
    found = conflict(record("eu", 1, b"a"), record("us", 3, b"b"))
    (told,), changes = settle(None, found)
    decision = decode_decision(told.data)
    assert (told.topic, told.key) == ("orders", b"k")
    assert (decision.topic, decision.decided_at_ms, decision.resolution.value) == ("orders", 77, b"b")
    assert decision.conflict == found
    assert changes == []


def test_nothing_is_told_of_records_that_met_no_other() -> None:
    assert settle(Store(), record("eu", 1), late=(record("us", 0),))[0] == []


def test_the_view_holds_what_was_decided_and_what_met_no_other() -> None:
    store = Store()
    both = conflict(record("eu", 1, b"a"), record("us", 3, b"b"))
    _, changes = settle(store, both, record("eu", 2, b"alone", key=b"l"))
    assert store.values == {PLACE: b"b", ("orders", b"l"): b"alone"}
    assert {(change.topic, change.key): change.held for change in changes} == store.held


def test_each_key_changes_once_however_often_it_was_settled() -> None:
    store = Store()
    both = conflict(record("eu", 1, b"a"), record("us", 3, b"b"))
    _, changes = settle(store, both, record("eu", 20, b"c"), record("us", 40, b"d"), late=(record("ap", 41, b"e"),))
    assert [(change.key, change.held.value) for change in changes] == [(b"k", b"e")]
    assert len(settle(Store(), both, conflict(record("eu", 50), record("us", 51)))[0]) == 2


def test_what_changes_nothing_is_neither_kept_nor_told() -> None:
    store = Store()
    newest = record("eu", 20, b"new")
    settle(store, newest)
    _, changes = settle(store, newest, record("us", 3, b"old"), late=(record("us", 4, b"older"),))
    assert changes == []
    assert store.puts[PLACE] == 1
    assert store.values == {PLACE: b"new"}


def test_a_deletion_is_a_change_too() -> None:
    store = Store()
    settle(store, record("eu", 1, b"a"))
    _, changes = settle(store, record("us", 30, None))
    assert [change.held.value for change in changes] == [None]


def test_a_late_record_counts_in_the_view_where_it_is_newer() -> None:
    store = Store()
    settle(store, record("eu", 10, b"a"))
    _, changes = settle(store, late=(record("us", 11, b"late but newer"), record("us", 9, b"late")))
    assert [change.held.value for change in changes] == [b"late but newer"]


def test_late_records_come_after_what_was_settled() -> None:
    """A deletion that was settled is newer than a late record, which must not come back."""
    store = Store()
    settle(store, record("eu", 30, None), late=(record("us", 9, likes("us", 3)),), rule=COUNTER)
    assert store.values == {PLACE: None}


def test_a_rule_that_accumulates_takes_late_records_in() -> None:
    store = Store()
    settle(store, record("eu", 30, likes("eu", 2)), rule=COUNTER)
    _, changes = settle(store, late=(record("us", 9, likes("us", 3)),), rule=COUNTER)
    assert [change.held.value for change in changes] == [b'{"likes":{"n":{},"p":{"eu":2,"us":3},"value":5}}']
    assert changes[0].held.upto == record("eu", 30, likes("eu", 2)).order


def test_nothing_is_kept_where_no_view_is_wanted() -> None:
    both = conflict(record("eu", 1, b"a"), record("us", 3, b"b"))
    told, changes = settle(None, both, record("eu", 20), late=(record("us", 0),))
    assert (len(told), changes) == (1, [])


def test_what_may_be_possible_in_a_moment_is_not_told_otherwise() -> None:
    with pytest.raises(RetryLater):
        settle(None, conflict(record("eu", 1), record("us", 3)), rule=Waits())


def test_topics_with_the_same_key_have_views_of_their_own() -> None:
    store = Store()
    other = Candidate("us", "users", "us.users", 0, 0, 10, b"k", b"w")
    _, changes = settle(store, record("eu", 1, b"v"), other)
    assert {(change.topic, change.held.value) for change in changes} == {("orders", b"v"), ("users", b"w")}


_writes = st.lists(
    st.tuples(st.sampled_from(("eu", "us")), st.sampled_from((b"k", b"l", b"m")), st.integers(0, 60), st.booleans()),
    max_size=25,
)


@given(_writes, st.lists(st.integers(0, 25), max_size=5), st.sampled_from([LAST, COUNTER]))
def test_over_any_steps_the_changes_add_up_to_what_the_view_would_hold(
    writes: list[tuple[str, bytes, int, bool]], cuts: list[int], rule: Resolver
) -> None:
    records = [
        record(origin, at_ms, likes(origin, number) if has_value else None, key=key, offset=number)
        for number, (origin, key, at_ms, has_value) in enumerate(sorted(writes, key=lambda write: write[2]))
    ]
    bucket, shelf, seen = Bucket(Bounds(5)), dict[int, bytes](), dict[bytes, bytes | None]()
    edges = [0, *sorted(min(place, len(records)) for place in cuts), len(records)]
    for first, end in pairwise(edges):
        upto = records[end].timestamp_ms if end < len(records) else 10**6
        pages = HeldPages(shelf.get)
        _, changes = Settlement(rule, pages).settle(bucket.step(records[first:end], upto), 0)
        shelf |= dict(pages.changed())
        assert max(Counter(change.key for change in changes).values(), default=1) == 1
        seen |= {change.key: change.held.value for change in changes}
    assert seen == _held_by(rule, Bucket(Bounds(5)).step(records, 10**6))


def _held_by(rule: Resolver, found: Found) -> dict[bytes, bytes | None]:
    held: dict[bytes, Held] = {}
    for item in found.settled:
        before = held.get(item.key)
        if isinstance(item, Conflict):
            held[item.key] = View(rule).after_conflict(before, item, rule.resolve(item))
        else:
            held[item.key] = View(rule).after_record(before, item)
    return {key: item.value for key, item in held.items()}
