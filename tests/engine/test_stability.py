"""What lies in open transactions is there, but hidden: up to when nothing is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.engine.stability import Stability
from heliograph.model import TopicPartition

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def test_without_open_transactions_nothing_is_hidden() -> None:
    stability = Stability()
    assert stability.until_ms(1000, {ONE: 5}, {ONE: 5}) == 1000
    assert stability.until_ms(2000, {ONE: 9}, {ONE: 11}) == 2000  # it has grown between the two questions
    assert stability.until_ms(3000, {}, {}) == 3000


def test_what_was_there_at_a_look_can_be_read_when_the_transaction_is_over() -> None:
    stability = Stability()
    assert stability.until_ms(1000, {ONE: 5}, {ONE: 5}) == 1000
    assert stability.until_ms(2000, {ONE: 9}, {ONE: 6}) == 1000  # one is open
    assert stability.until_ms(3000, {ONE: 15}, {ONE: 8}) == 1000  # and the next one
    assert stability.until_ms(4000, {ONE: 20}, {ONE: 9}) == 2000  # what was there at 2000 can be read
    assert stability.until_ms(5000, {ONE: 20}, {ONE: 19}) == 3000
    assert stability.until_ms(6000, {ONE: 20}, {ONE: 20}) == 6000


def test_with_one_that_was_open_at_the_first_look_nothing_is_known() -> None:
    stability = Stability()
    assert stability.until_ms(1000, {ONE: 5}, {ONE: 3}) == 0
    assert stability.until_ms(2000, {ONE: 6}, {ONE: 3}) == 0
    assert stability.until_ms(3000, {ONE: 7}, {ONE: 5}) == 1000


def test_the_partition_that_hides_most_counts() -> None:
    stability = Stability()
    stability.until_ms(1000, {ONE: 5, OTHER: 5}, {ONE: 5, OTHER: 5})
    assert stability.until_ms(2000, {ONE: 6, OTHER: 6}, {ONE: 5, OTHER: 6}) == 1000
    assert stability.until_ms(3000, {ONE: 6, OTHER: 7}, {ONE: 6, OTHER: 6}) == 2000


def test_a_new_partition_counts_from_its_first_look_on() -> None:
    stability = Stability()
    stability.until_ms(1000, {ONE: 5}, {ONE: 5})
    assert stability.until_ms(2000, {ONE: 5, OTHER: 1}, {ONE: 5, OTHER: 1}) == 2000
    assert stability.until_ms(3000, {ONE: 5, TopicPartition("new", 0): 1}, {ONE: 5, TopicPartition("new", 0): 0}) == 0


def test_a_long_transaction_does_not_pile_up_more_than_its_looks() -> None:
    stability = Stability()
    for look in range(500):
        stability.until_ms(look, {ONE: 5}, {ONE: 5})
    assert len(stability._looks[ONE]) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30))
def test_all_that_was_written_before_can_be_read(steps: list[tuple[int, int]]) -> None:
    stability, ends, readable, before = Stability(), [0], 0, 0
    for number, (grown, shown) in enumerate(steps, 1):
        ends.append(ends[-1] + grown)
        readable = min(ends[-1], readable + shown)
        until_ms = stability.until_ms(number, {ONE: ends[-1]}, {ONE: readable})
        assert before <= until_ms <= number
        assert ends[until_ms] <= readable  # all that was there at that time
        later = [time_ms for time_ms in range(number + 1) if ends[time_ms] <= readable]
        assert until_ms == max(later)
        before = until_ms
