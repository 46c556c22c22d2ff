"""What lanes declare: as records, which of it counts, and under which id a lane writes next."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import NewerFormat
from heliograph.ledger import notes
from heliograph.ledger.declarations import (
    SEQUENCES,
    Anchor,
    Declaration,
    Doubt,
    Flush,
    Recovered,
    Row,
    SeenBatch,
    Writer,
    next_anchors,
    recovered_runs,
)
from heliograph.ledger.notes import NEVER_AGAIN, REST_MS, Note, Notes, Session, choose_id, furthest
from heliograph.model import Run, TopicPartition

SOURCE, TARGET = TopicPartition("orders", 3), TopicPartition("primary.orders", 3)
TOPIC_ID = str(UUID(int=77))
OLD, NEW = Writer(5, 1), Writer(6, 0)
BASE = Flush(100, 41, OLD, 12, 2)


def note(writer: Writer, seen: int = 0, *anchors: Anchor, source: TopicPartition = SOURCE) -> Note:
    declared = Declaration(writer, TOPIC_ID, anchors or (Anchor(0, 100, 2),))
    return Note(source, TARGET, "heliograph-a->b-0", "heliograph-a->b-0d1", declared, BASE, seen)


anchors = st.builds(Anchor, st.integers(0, SEQUENCES - 1), st.integers(0, 1 << 60), st.integers(-1, 1 << 30))


@given(st.lists(anchors, min_size=1, max_size=20), st.booleans())
def test_a_note_is_read_as_it_was_written(declared: list[Anchor], is_based: bool) -> None:
    base = BASE if is_based else Flush(0, -1)
    written = Note(SOURCE, TARGET, "lane", "laned2", Declaration(NEW, TOPIC_ID, tuple(declared)), base, 9)
    key = notes.encode_session(written.session)
    assert notes.decode_key(key) == written.session
    assert notes.decode_note(written.session, notes.encode_note(written)) == written


def test_records_of_a_newer_format_are_refused() -> None:
    known = Notes()
    with pytest.raises(NewerFormat):
        known.apply(0, bytes((notes.FORMAT + 1, 1, 1)), b"")


def test_a_note_takes_the_place_of_those_that_its_writer_had_seen() -> None:
    known = Notes()
    known.take(4, note(OLD))
    known.take(7, note(NEW, 5))
    assert known.about(SOURCE) == [note(NEW, 5)]
    assert known.replaced == {Session(SOURCE, OLD)}


def test_two_that_did_not_know_of_each_other_both_count_and_are_noticed() -> None:
    known = Notes()
    known.take(4, note(OLD, 4))
    known.take(5, note(NEW, 4))
    assert [one.declaration.writer for one in known.about(SOURCE)] == [OLD, NEW]
    assert known.others_since(4, {SOURCE}, NEW) == [Session(SOURCE, OLD)]
    assert known.others_since(5, {SOURCE}, NEW) == []
    assert known.others_since(4, {TopicPartition("other", 0)}, NEW) == []


def test_the_end_of_a_session_is_noticed_like_its_beginning_and_nothing_stays_of_it() -> None:
    known = Notes()
    key = notes.encode_session(Session(SOURCE, OLD))
    known.apply(3, key, notes.encode_note(note(OLD)))
    known.apply(4, key, None)
    assert not list(known.all())
    assert known.others_since(4, {SOURCE}, NEW) == [Session(SOURCE, OLD)]
    assert known.end == 5


def test_when_ids_were_used_is_read_as_it_was_written() -> None:
    known = Notes()
    known.apply(0, notes.encode_lane("lane"), notes.encode_uses({"laned0": 5, "laned1": NEVER_AGAIN}))
    assert known.used == {"lane": {"laned0": 5, "laned1": NEVER_AGAIN}}


@pytest.mark.parametrize(
    ("used", "chosen"),
    [
        ({}, "d0"),
        ({"d0": 1}, "d1"),
        ({"d0": 30, "d1": 10, "d2": 20}, "d1"),
        ({"d0": REST_MS, "d1": REST_MS, "d2": REST_MS}, "d3"),
        ({"d0": NEVER_AGAIN, "d1": REST_MS + 60, "d2": REST_MS + 61, "d3": REST_MS + 99}, "d4"),
        ({"d0": NEVER_AGAIN, "d1": 50, "d2": 40, "d3": 45}, "d2"),
    ],
)
def test_the_id_that_was_unused_longest_is_next_if_it_has_rested(used: dict[str, int], chosen: str) -> None:
    assert choose_id("", used, now_ms=REST_MS + 100) == chosen


def test_what_lies_furthest_on_the_target_counts() -> None:
    position = Flush(1_000, 41, OLD, 12)
    begun_again = Flush(5, 44, NEW, 3)
    assert furthest(position, [Recovered(begun_again)]) == Recovered(begun_again)
    assert furthest(position, [Recovered(Flush(900, 41, OLD, 12))]) == Recovered(position)
    doubtful = Recovered(position, Doubt.TRUNCATED)
    assert furthest(position, [doubtful]) == doubtful


def test_only_gaps_need_anchors() -> None:
    following = Anchor(0, 100, 2)
    assert next_anchors(following, [Row(100, 5, 2), Row(105, 1, 2)]) == ([], Anchor(6, 106, 2))
    found, following = next_anchors(following, [Row(100, 5, 2), Row(107, 2, 2), Row(109, 1, 3)])
    assert found == [Anchor(5, 107, 2), Anchor(7, 109, 3)]
    assert following == Anchor(8, 110, 3)
    wrapped = next_anchors(Anchor(SEQUENCES - 1, 50, 0), [Row(50, 3, 0)])
    assert wrapped == ([], Anchor(2, 53, 0))


def test_the_tail_of_a_writer_is_told_as_runs() -> None:
    declared = Declaration(NEW, TOPIC_ID, (Anchor(0, 100, 2), Anchor(3, 110, 2)))
    tail = [
        SeenBatch(40, 41, OLD, 10),
        SeenBatch(43, 46, NEW, 0),
        SeenBatch(47, 47, OLD, 12),
        SeenBatch(48, 49, NEW, 4),
    ]
    assert recovered_runs(BASE, declared, tail) == [Run(100, 43, 3), Run(110, 46, 1), Run(111, 48, 2)]
