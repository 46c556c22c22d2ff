"""Every conflict gets an answer."""

from __future__ import annotations

from heliograph.conflicts.resolvers.catalogue import make_resolver
from heliograph.conflicts.resolvers.settling import settle
from tests.conflicts.samples import conflict, record


def test_if_the_rule_cannot_read_the_records_the_last_writer_wins_and_the_note_tells_why() -> None:
    rule = make_resolver({"conflicts.resolver": "crdt", "conflicts.crdt.fields": "likes: counter"})
    last = record("us", 2, b'{"likes":"secret"}')
    resolution = settle(rule, conflict(record("eu", 1, b"{}"), last))
    assert resolution[:3] == (last, last.value, "last-writer-wins")
    assert resolution.note.startswith("the field likes is not a counter")
    assert "secret" not in resolution.note


def test_else_the_rule_decides() -> None:
    rule = make_resolver({"conflicts.resolver": "first-writer-wins"})
    assert settle(rule, conflict(record("eu", 1, b"1"), record("us", 2, b"2"))).value == b"1"
