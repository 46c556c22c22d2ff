"""JSON documents are merged, so that no write is lost."""

from __future__ import annotations

from itertools import permutations

import pytest

from heliograph.conflicts.resolvers.crdt_merge import CrdtMerge
from heliograph.errors import DataError
from tests.conflicts.samples import conflict, record


def merging(fields: str) -> CrdtMerge:
    resolver = CrdtMerge()
    resolver.configure({"conflicts.crdt.fields": fields})
    return resolver


def test_fields_are_merged_each_in_its_way() -> None:
    records = (
        record("eu", 1, b'{"likes":{"p":{"eu":2}},"tags":["a"],"name":"old","id":7}'),
        record("us", 2, b'{"likes":{"p":{"us":3},"n":{"us":1}},"tags":["b"],"name":"new"}'),
        record("ap", 2, b'{"tags":["c"]}'),
    )
    merged = {merging("likes: counter, tags: g-set").resolve(conflict(*order)) for order in permutations(records)}
    value = b'{"id":7,"likes":{"n":{"us":1},"p":{"eu":2,"us":3},"value":4},"name":"new","tags":["a","b","c"]}'
    assert merged == {(None, value, "crdt", "")}


def test_a_deletion_has_nothing_to_merge_unless_there_is_nothing_else() -> None:
    resolver = merging("tags: g-set")
    assert resolver.resolve(conflict(record("eu", 1, b'{"tags":[]}'), record("us", 2, None))).value == b'{"tags":[]}'
    assert resolver.resolve(conflict(record("eu", 1, None), record("us", 2, None))).value is None


@pytest.mark.parametrize("value", [b"[]", b"secret", b'{"tags":"secret"}', b'{"tags":{"secret":1}}'])
def test_what_cannot_be_merged_is_told_without_its_value(value: bytes) -> None:
    with pytest.raises(DataError) as raised:
        merging("tags: or-set").resolve(conflict(record("eu", 1, value), record("us", 2, b"{}")))
    assert "secret" not in str(raised.value)


def test_without_fields_there_is_nothing_to_merge_by() -> None:
    with pytest.raises(ValueError, match=r"conflicts\.crdt\.fields"):
        merging("")
