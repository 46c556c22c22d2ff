"""The oldest record wins."""

from __future__ import annotations

from heliograph.conflicts.resolvers.first_writer_wins import FirstWriterWins
from tests.conflicts.samples import conflict, record


def test_the_oldest_wins_and_of_equal_times_the_alias_that_sorts_first() -> None:
    records = record("us", 8, b"a"), record("eu", 8, b"z"), record("ap", 9, b"new")
    resolution = FirstWriterWins().resolve(conflict(*records))
    assert (resolution.winner, resolution.rule) == (records[1], "first-writer-wins")
