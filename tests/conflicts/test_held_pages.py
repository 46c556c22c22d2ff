"""What views hold is kept in pages: only those that are needed are read, only those that changed are written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.bucket import BUCKETS, Key, bucket_of
from heliograph.conflicts.held_pages import PAGES, HeldPages
from heliograph.conflicts.view import Held
from tests.conflicts.samples import record


class Shelf:
    """Keeps pages between two steps, and counts what is asked of it."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.loaded: list[int] = []

    def load(self, number: int) -> bytes | None:
        self.loaded.append(number)
        return self.kept.get(number)

    def step(self, changes: dict[Key, Held]) -> list[int]:
        """Put some keys; which pages had to be written."""
        pages = HeldPages(self.load)
        for place, held in changes.items():
            pages.put(place, held)
        changed = dict(pages.changed())
        self.kept |= changed
        return list(changed)


def held(number: int) -> Held:
    order = record("eu", number).order
    return Held(None if number % 3 == 0 else b"%d" % number, order, b"m" * (number % 2), order if number % 5 else None)


KEYS: list[Key] = [("orders" if number % 2 else "users", b"key-%d" % number) for number in range(400)]
_steps = st.lists(st.dictionaries(st.sampled_from(KEYS[:40]), st.integers(0, 99).map(held)), max_size=6)


@given(_steps)
def test_it_holds_what_was_put_last_over_many_steps(steps: list[dict[Key, Held]]) -> None:
    shelf, expected = Shelf(), dict[Key, Held]()
    for changes in steps:
        shelf.step(changes)
        expected |= changes
    pages = HeldPages(shelf.load)
    assert {place: found for place in KEYS[:40] if (found := pages.get(place))} == expected


def test_what_was_put_is_there_at_once_and_before_it_is_kept() -> None:
    pages = HeldPages(Shelf().load)
    assert pages.get(KEYS[0]) is None
    pages.put(KEYS[0], held(1))
    pages.put(KEYS[0], held(2))
    assert pages.get(KEYS[0]) == held(2)


def test_the_same_key_of_another_topic_is_another_one() -> None:
    pages = HeldPages(Shelf().load)
    pages.put(("orders", b"k"), held(1))
    assert pages.get(("users", b"k")) is None


def test_one_that_was_only_read_need_not_be_written() -> None:
    shelf = Shelf()
    shelf.step({place: held(1) for place in KEYS})
    pages = HeldPages(shelf.load)
    assert pages.get(KEYS[0]) == held(1)
    assert list(pages.changed()) == []


def test_a_page_is_read_once_and_others_not_at_all() -> None:
    shelf = Shelf()
    pages = HeldPages(shelf.load)
    for _ in range(3):
        pages.get(KEYS[0])
    pages.put(KEYS[0], held(1))
    assert len(shelf.loaded) == 1
    assert [number for number, _ in pages.changed()] == shelf.loaded


def test_keys_of_one_bucket_are_spread_over_all_its_pages() -> None:
    places = [("orders", b"key-%d" % number) for number in range(20_000)]
    one_bucket = {place: held(1) for place in places if bucket_of(*place) == 3}
    assert len(one_bucket) > 20_000 / BUCKETS / 2
    assert Shelf().step(one_bucket) == list(range(PAGES))
