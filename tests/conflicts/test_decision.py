"""What is written to conflict-resolutions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import Decision, decode_decision, encode_decision
from heliograph.conflicts.resolvers.last_writer_wins import LastWriterWins
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.errors import DataError
from heliograph.transforms.message import Header
from tests.conflicts.samples import Write, as_read_on, conflict, record


def decided(*records: Candidate) -> Decision:
    found = conflict(*records)
    return Decision.made(found, LastWriterWins().resolve(found), 99)


def test_winner_timestamp_and_value_stand_first_as_texts_and_number() -> None:
    text = encode_decision(decided(record("eu", 10, b"old"), record("us", 12, b'say "hi"', offset=3)))
    assert list(json.loads(text).items())[:3] == [("winner", "us.orders"), ("timestamp", 12), ("value", 'say "hi"')]


def test_all_that_decided_is_told() -> None:
    members = json.loads(encode_decision(decided(record("eu", 10, b"old", offset=7), record("us", 12, b"new"))))
    assert members == {
        "winner": "us.orders",
        "timestamp": 12,
        "value": "new",
        "cluster": "us",
        "key": "k",
        "rule": "last-writer-wins",
        "window": 5,
        "decided_at": 99,
        "candidates": [
            {
                "cluster": "eu",
                "topic": "orders",
                "original_topic": "orders",
                "partition": 0,
                "offset": 7,
                "timestamp": 10,
                "value": "old",
            },
            {
                "cluster": "us",
                "topic": "us.orders",
                "original_topic": "orders",
                "partition": 0,
                "offset": 0,
                "timestamp": 12,
                "value": "new",
                "won": True,
            },
        ],
    }


def test_the_logical_topic_is_told_before_the_key_and_left_out_if_unknown() -> None:
    found = conflict(record("eu", 10), record("us", 12))
    decision = Decision.made(found, LastWriterWins().resolve(found), 99, "orders")
    members = json.loads(encode_decision(decision))
    assert list(members)[3:6] == ["cluster", "topic", "key"]
    assert (members["topic"], decode_decision(encode_decision(decision))) == ("orders", decision)
    assert "topic" not in json.loads(encode_decision(decided(record("eu", 10), record("us", 12))))


def test_a_decision_that_names_no_topic_is_about_that_of_its_records() -> None:
    found = conflict(record("eu", 10), record("us", 12))
    assert decided(*found.candidates).logical_topic == "orders"
    assert Decision.made(found, LastWriterWins().resolve(found), 99, "all-orders").logical_topic == "all-orders"


def test_what_is_no_text_is_marked_as_base64() -> None:
    records = [record("eu", 10, b"old", key=b"\xff"), record("us", 12, b"\xfe", key=b"\xff")]
    members = json.loads(encode_decision(decided(*records)))
    assert (members["key"], members["key_encoding"]) == ("/w==", "base64")
    assert (members["value"], members["value_encoding"]) == ("/g==", "base64")
    assert "value_encoding" not in members["candidates"][0]
    assert members["candidates"][1]["value_encoding"] == "base64"


def test_a_merged_value_has_no_winner_and_the_time_of_the_last_record() -> None:
    found = conflict(record("eu", 10, b"{}"), record("us", 12, b"{}"))
    decision = Decision.made(found, Resolution(None, b'{"a":1}', "crdt"), 99)
    members = json.loads(encode_decision(decision))
    assert (members["winner"], members["cluster"], members["timestamp"]) == (None, None, 12)
    assert not any("won" in candidate for candidate in members["candidates"])


def test_only_the_winner_has_won_not_all_records_of_its_cluster() -> None:
    decision = decided(record("us", 10, b"1"), record("eu", 11, b"2"), record("us", 12, b"3"))
    members = json.loads(encode_decision(decision))
    assert [candidate.get("won", False) for candidate in members["candidates"]] == [False, False, True]
    assert decode_decision(encode_decision(decision)) == decision


def test_headers_are_not_told() -> None:
    secret = (Header("h", b"secret"),)
    decision = decided(record("eu", 10, headers=secret), record("us", 12, headers=secret))
    assert b"secret" not in encode_decision(decision)
    assert decode_decision(encode_decision(decision)) == decision


@given(
    st.lists(st.tuples(st.integers(), st.none() | st.binary()), min_size=2, unique_by=lambda pair: pair),
    st.binary(),
    st.booleans(),
    st.text(),
)
def test_a_decision_can_be_read_again(
    written: list[tuple[int, bytes | None]], key: bytes, continues: bool, note: str
) -> None:
    records = [record("eu", abs(at) % 2**40, value, offset=n, key=key) for n, (at, value) in enumerate(written)]
    found = Conflict(conflict(*records).candidates, 5000, continues)
    note = note.encode("utf-8", "ignore").decode()
    for resolution in (Resolution.for_winner(found.candidates[0], "rule", note), Resolution(None, b"\xff", "rule")):
        decision = Decision.made(found, resolution, 1, note)
        assert decode_decision(encode_decision(decision)) == decision


def test_the_essence_is_the_same_on_every_cluster() -> None:
    history = [Write("eu", 10, b"1"), Write("us", 12, b"2")]
    here, there = decided(*as_read_on("eu", history, 1)), decided(*as_read_on("us", history, 7))
    assert encode_decision(here) != encode_decision(there)
    assert here.essence == there.essence
    assert here.essence != decided(*as_read_on("eu", [*history, Write("ap", 13, b"3")], 1)).essence


GOOD = encode_decision(decided(record("eu", 1), record("us", 1)))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b'{"winner":null,"timestamp":1,"value":null,"cluster":null,"key":"k","rule":"r","window":1,"decided_at":1,'
        b'"candidates":[]}',
        GOOD.replace(b'"key":"k"', b'"key":"k","key_encoding":"x"'),
        GOOD.replace(b'"key":"k"', b'"key":"?","key_encoding":"base64"'),
        b"\xff",
    ],
)
def test_anything_else_is_refused(text: bytes) -> None:
    with pytest.raises(DataError, match="not a decision"):
        decode_decision(text)
