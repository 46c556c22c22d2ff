"""A decision fits into a record, however long the conflict was."""

from __future__ import annotations

from heliograph.conflicts.brevity import LARGEST_DECISION, LONGEST_VALUE, MOST_CANDIDATES
from heliograph.conflicts.decision import Decision, decode_decision, encode_decision
from heliograph.conflicts.resolvers.first_writer_wins import FirstWriterWins
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.conflicts.resolvers.resolution import Resolution
from tests.conflicts.samples import conflict, record

_MANY = [record("eu" if number % 2 else "us", number, b"v%d" % number, offset=number) for number in range(1000)]


def test_of_many_candidates_the_first_and_the_last_and_the_winner_are_told() -> None:
    met = conflict(*_MANY)
    winner = met.candidates[500]
    told = Decision.made(met, Resolution.for_winner(winner, "mine"), 0)
    assert told.omitted == 1000 - MOST_CANDIDATES - 1
    assert len(told.conflict.candidates) == MOST_CANDIDATES + 1
    assert told.conflict.candidates[0] == met.candidates[0]
    assert told.conflict.candidates[-1] == met.candidates[-1]
    assert decode_decision(encode_decision(told)) == told
    assert told.resolution.winner == winner


def test_values_are_left_out_from_the_oldest_on_when_they_are_too_long_together() -> None:
    large = [record("eu" if number % 2 else "us", number, b"x" * 200_000, offset=number) for number in range(4)]
    for rule in (FirstWriterWins(), LastWriterWins()):
        met = conflict(*large)
        told = Decision.made(met, rule.resolve(met), 0)
        assert [one.value is None for one in told.conflict.candidates] == [True, True, False, False]
        assert told.values_omitted == 2
        assert told.resolution.value == b"x" * 200_000
        again = decode_decision(encode_decision(told))
        assert again == told
        assert again.resolution.winner is not None


def test_a_value_too_long_for_a_record_is_named_and_not_told() -> None:
    huge = record("eu", 1, b"\xff" * (LONGEST_VALUE + 1))
    met = conflict(huge, record("us", 2, b"small", offset=1))
    told = Decision.made(met, FirstWriterWins().resolve(met), 0)
    assert told.resolution.value is None
    assert f"{LONGEST_VALUE + 1} bytes" in told.resolution.note


def test_the_longest_decision_fits() -> None:
    value = b"\xff" * LONGEST_VALUE  # which base64 makes a third longer
    met = conflict(record("eu", 1, value), record("us", 2, value, offset=1), *_MANY)
    assert len(encode_decision(Decision.made(met, FirstWriterWins().resolve(met), 0))) < LARGEST_DECISION
