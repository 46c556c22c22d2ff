"""What decisions add up to: over a minute, an hour, the whole span; by topic, rule, winner and key."""

from __future__ import annotations

from heliograph.control.conflicts import book as book_module
from heliograph.control.conflicts.book import HOUR_MS, MERGED, MINUTE_MS, ConflictBook, TopicKey
from heliograph.control.conflicts.top_counts import Count
from tests.control.conflicts.stage import decided

NOW = 1_800_000_000_000


def book_of(*ages_ms: int, span_ms: int = HOUR_MS, examples: int = 10) -> ConflictBook:
    book = ConflictBook(NOW - span_ms, span_ms, examples)
    for age in ages_ms:
        book.add(decided(NOW - age, f"key-{age}".encode()), 100, NOW)
    return book


def test_rates_are_of_the_last_minute_the_last_hour_and_the_whole_span() -> None:
    ages = [0, 30_000, 61_000, 59 * MINUTE_MS, 61 * MINUTE_MS, 5 * HOUR_MS]
    figures = book_of(*ages, span_ms=6 * HOUR_MS).figures(NOW, 10)
    assert (figures.last_minute, figures.last_hour, figures.conflicts) == (2, 4, 6)
    assert figures.per_minute == 6 / 360
    assert (figures.since_ms, figures.last_ms) == (NOW - 6 * HOUR_MS, NOW)


def test_a_short_span_says_nothing_of_an_hour() -> None:
    figures = book_of(0, 10 * MINUTE_MS, 20 * MINUTE_MS, span_ms=15 * MINUTE_MS).figures(NOW, 10)
    assert (figures.conflicts, figures.last_hour) == (2, None)


def test_just_the_span_counts_and_nothing_before_it() -> None:
    assert book_of(HOUR_MS, HOUR_MS + 1).figures(NOW, 10).conflicts == 1


def test_what_grows_old_falls_out() -> None:
    book = book_of(50 * MINUTE_MS, 0)
    later = book.figures(NOW + 20 * MINUTE_MS, 10)
    assert (later.conflicts, later.last_minute, len(later.examples)) == (1, 0, 1)
    assert [key.item.key for key in later.keys] == [b"key-0"]
    assert book.figures(NOW + 3 * HOUR_MS, 10).conflicts == 0
    assert book.figures(NOW + 3 * HOUR_MS, 10).last_ms == 0


def test_a_clock_ahead_of_ours_counts_as_now() -> None:
    book = ConflictBook(NOW - HOUR_MS, HOUR_MS, 10)
    book.add(decided(NOW + 50 * HOUR_MS), 100, NOW)
    book.add(decided(NOW), 100, NOW)
    figures = book.figures(NOW, 10)
    assert (figures.conflicts, figures.last_minute, figures.last_ms) == (2, 2, NOW)


def test_conflicts_are_counted_by_topic_rule_winner_and_key() -> None:
    book = ConflictBook(NOW - HOUR_MS, HOUR_MS, 10)
    for key, topic, winner, rule in [
        (b"a", "orders", 0, "last-writer-wins"),
        (b"a", "orders", 1, "last-writer-wins"),
        (b"a", "carts", None, "crdt"),
        (b"b", "orders", 1, "last-writer-wins"),
    ]:
        book.add(decided(NOW, key, topic=topic, winner=winner, rule=rule), 100, NOW)
    figures = book.figures(NOW, 10)
    assert list(figures.topics) == [Count("orders", 3), Count("carts", 1)]
    assert list(figures.rules) == [Count("last-writer-wins", 3), Count("crdt", 1)]
    assert list(figures.winners) == [Count("us", 2), Count("eu", 1), Count(MERGED, 1)]
    assert figures.keys[0] == Count(TopicKey("orders", b"a"), 2)
    assert len(figures.keys) == 3
    assert list(book.figures(NOW, 1).keys) == [Count(TopicKey("orders", b"a"), 2)]


def test_the_curve_has_every_whole_slice_and_not_the_present_one() -> None:
    book = book_of(90_000, 80_000, 30_000)
    book.add(decided(NOW + 1_000), 100, NOW + 1_000)
    bars = book.figures(NOW + 1_000, 10).bars
    assert len(bars) == 60
    assert [bar.conflicts for bar in bars[-3:]] == [0, 2, 1]
    assert (bars[0].at_ms, bars[0].span_ms, bars[-1].at_ms) == (NOW - HOUR_MS, MINUTE_MS, NOW - MINUTE_MS)


def test_examples_are_the_newest_first_and_so_many_at_most() -> None:
    figures = book_of(4_000, 3_000, 2_000, 1_000, examples=3).figures(NOW, 2)
    assert [item.decided_at_ms for item in figures.examples] == [NOW - 1_000, NOW - 2_000]
    assert len(book_of(4_000, 3_000, 2_000, 1_000, examples=3).figures(NOW, 9).examples) == 3


def test_what_is_too_old_takes_no_room_from_examples() -> None:
    figures = book_of(1_000, 2 * HOUR_MS, examples=1).figures(NOW, 9)
    assert [item.decided_at_ms for item in figures.examples] == [NOW - 1_000]


def test_large_examples_give_way_but_the_newest_stays() -> None:
    book = ConflictBook(NOW - HOUR_MS, HOUR_MS, 100)
    half = book_module._EXAMPLE_BYTES // 2
    for number in range(5):
        book.add(decided(NOW, str(number).encode()), half, NOW)
    assert [item.conflict.key for item in book.figures(NOW, 100).examples] == [b"4", b"3"]
    book.add(decided(NOW, b"huge"), 3 * half, NOW)
    assert [item.conflict.key for item in book.figures(NOW, 100).examples] == [b"huge"]
    book.add(decided(NOW, b"small"), 1, NOW)
    assert [item.conflict.key for item in book.figures(NOW, 100).examples] == [b"small"]


def test_the_room_for_examples_is_not_used_up_by_those_that_were_pushed_out() -> None:
    book = ConflictBook(NOW - HOUR_MS, HOUR_MS, 4)
    for number in range(50):
        book.add(decided(NOW, str(number).encode()), book_module._EXAMPLE_BYTES // 5, NOW)
    assert len(book.figures(NOW, 100).examples) == 4


def test_however_many_keys_the_book_stays_small() -> None:
    book = ConflictBook(NOW - HOUR_MS, HOUR_MS, 10)
    one = decided(NOW, b"hot")
    for number in range(3_000):
        book.add(one, 100, NOW)
        book.add(decided(NOW, str(number).encode()), 100, NOW)
    figures = book.figures(NOW, 5_000)
    assert figures.conflicts == 6_000
    assert len(figures.keys) == book_module._KEYS
    assert figures.keys[0] == Count(TopicKey("orders", b"hot"), 3_000)
    assert not figures.keys[-1].is_exact
