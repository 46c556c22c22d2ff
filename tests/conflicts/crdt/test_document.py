"""A JSON object whose fields are merged one by one."""

from __future__ import annotations

import pytest

from heliograph.conflicts.crdt.document import DocumentMerge
from heliograph.conflicts.crdt.fields import read_fields
from heliograph.errors import DataError

MERGE = DocumentMerge(read_fields("likes: counter"))


def test_a_field_without_a_kind_is_that_of_the_newest_record_that_has_it() -> None:
    old = MERGE.read(b'{"name":"old","id":7}', 1, "us")
    new = MERGE.read(b'{"name":"new"}', 2, "eu")
    assert MERGE.write(MERGE.merge(new, old)) == b'{"id":7,"name":"new"}'


def test_numbers_keep_every_digit() -> None:
    text = b'{"a":1.10,"b":123456789012345678901234567890,"c":1e400}'
    assert MERGE.write(MERGE.read(text, 1, "us")) == b'{"a":1.10,"b":123456789012345678901234567890,"c":1E+400}'


@pytest.mark.parametrize("value", [b"", b"[]", b"7", b"null", b"\xff", b'{"likes":7}', b"[" * 5000])
def test_what_is_no_such_document_is_refused(value: bytes) -> None:
    with pytest.raises(DataError):
        MERGE.read(value, 1, "us")


def test_a_document_too_deep_to_be_written_is_refused() -> None:
    with pytest.raises(DataError):
        MERGE.write({"a": {"value": _nested(5000), "timestamp": 1, "origin": "us"}})


def _nested(depth: int) -> list[object]:
    inner: list[object] = []
    for _ in range(depth):
        inner = [inner]
    return inner
