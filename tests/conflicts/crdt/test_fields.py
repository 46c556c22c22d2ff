"""How each field of a document is merged, as a configuration says it."""

from __future__ import annotations

import pytest

from heliograph.conflicts.crdt.fields import read_fields


def test_fields_and_their_kinds_are_read() -> None:
    fields = read_fields(" likes: counter, tags:or-set , a:b : lww-map")
    assert {field: kind.NAME for field, kind in fields.items()} == {
        "likes": "counter",
        "tags": "or-set",
        "a:b": "lww-map",
    }
    assert read_fields("") == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("likes", "'likes' must be a field and how it is merged"),
        (": counter", "must be a field"),
        ("likes: counter,", "must be a field"),
        ("likes: counters", r"the field likes cannot be merged as 'counters'; did you mean counter\?"),
        ("likes: x", "possible are counter, g-set, or-set, lww-register, lww-map"),
        ("likes: counter, likes: g-set", "likes comes up twice"),
    ],
)
def test_what_is_wrong_is_said(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_fields(text)
