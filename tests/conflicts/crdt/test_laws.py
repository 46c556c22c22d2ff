"""Merging in any order, in any grouping, any number of times gives the same: for every kind, and for documents."""

from __future__ import annotations

from functools import reduce
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.conflicts.crdt.canonical import canonical, read_canonical
from heliograph.conflicts.crdt.document import DocumentMerge, decode_document, encode_document
from heliograph.conflicts.crdt.fields import MERGE_TYPES
from tests.conflicts.crdt.samples import JSON, NAMES, STATES

DOCUMENTS = st.fixed_dictionaries({}, optional={**STATES, "plain": JSON})
VERSIONED = st.tuples(DOCUMENTS, st.integers(0, 2), NAMES)
MERGE = DocumentMerge(MERGE_TYPES)  # each kind has a field of its name


def assert_laws(merge: Any, one: Any, two: Any, three: Any) -> None:
    assert canonical(merge(one, two)) == canonical(merge(two, one))
    assert canonical(merge(merge(one, two), three)) == canonical(merge(one, merge(two, three)))
    assert canonical(merge(one, one)) == canonical(one)
    both = merge(one, two)
    assert canonical(merge(both, one)) == canonical(merge(both, both)) == canonical(both)


@pytest.mark.parametrize("name", MERGE_TYPES)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_every_kind_keeps_the_laws(name: str, data: st.DataObject) -> None:
    kind = MERGE_TYPES[name]
    assert_laws(kind.merge, *(kind.read("f", read_canonical(canonical(data.draw(STATES[name])))) for _ in range(3)))


@pytest.mark.parametrize("name", MERGE_TYPES)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_what_was_merged_can_be_written_and_read_again(name: str, data: st.DataObject) -> None:
    kind = MERGE_TYPES[name]
    one, two = (kind.read("f", read_canonical(canonical(data.draw(STATES[name])))) for _ in range(2))
    merged = kind.merge(one, two)
    assert canonical(kind.read("f", read_canonical(canonical(merged)))) == canonical(merged)


@settings(max_examples=200, deadline=None)
@given(st.tuples(VERSIONED, VERSIONED, VERSIONED))
def test_documents_keep_the_laws(versions: tuple[tuple[Any, int, str], ...]) -> None:
    documents = [MERGE.read(canonical(members), at, origin) for members, at, origin in versions]
    assert_laws(MERGE.merge, *documents)
    assert len({MERGE.write(reduce(MERGE.merge, order)) for order in permutations(documents)}) == 1


@settings(max_examples=100, deadline=None)
@given(st.tuples(VERSIONED, VERSIONED, VERSIONED))
def test_a_document_that_was_put_away_merges_as_before(versions: tuple[tuple[Any, int, str], ...]) -> None:
    one, two, three = (MERGE.read(canonical(members), at, origin) for members, at, origin in versions)
    put_away = decode_document(encode_document(MERGE.merge(one, two)))
    assert MERGE.write(MERGE.merge(put_away, three)) == MERGE.write(MERGE.merge(MERGE.merge(one, two), three))
