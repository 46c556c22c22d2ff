"""The newest record wins."""

from __future__ import annotations

from itertools import permutations

from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from tests.conflicts.samples import conflict, record


def test_the_newest_wins_with_its_value() -> None:
    newest = record("eu", 9, b"new")
    assert LastWriterWins().resolve(conflict(record("us", 8, b"old"), newest)) == (
        newest,
        b"new",
        "last-writer-wins",
        "",
    )


def test_of_equal_times_the_alias_that_sorts_last_wins_whatever_came_first() -> None:
    records = [record("ap", 9, b"z", offset=8), record("us", 9, b"a", offset=1), record("eu", 9, b"m", offset=5)]
    assert {LastWriterWins().resolve(conflict(*order)).value for order in permutations(records)} == {b"a"}


def test_a_deletion_can_win() -> None:
    resolution = LastWriterWins().resolve(conflict(record("us", 8, b"old"), record("eu", 9, None)))
    assert resolution.winner is not None
    assert resolution.value is None
