"""One text for one JSON value."""

from __future__ import annotations

import pytest

from heliograph.conflicts.crdt.canonical import canonical, read_canonical
from heliograph.errors import DataError


def test_the_order_of_members_does_not_matter_at_any_depth() -> None:
    assert canonical(read_canonical(b'{"b":{"d":1,"c":2},"a":[]}')) == b'{"a":[],"b":{"c":2,"d":1}}'


@pytest.mark.parametrize("text", [b"1e-08", b"1e-8", b"1.10", b"1E400", b"-0.0", b"0.1", b"1e5", b"9" * 40])
def test_what_was_written_is_written_the_same_when_read_again(text: bytes) -> None:
    written = canonical(read_canonical(text))
    assert canonical(read_canonical(written)) == written


@pytest.mark.parametrize("text", [b"", b"secret", b"\xff", b"1e99999999999999999999", b"[" * 5000])
def test_what_is_no_json_is_refused_and_not_shown(text: bytes) -> None:
    with pytest.raises(DataError, match="not JSON that can be read") as raised:
        read_canonical(text)
    assert "secret" not in str(raised.value)
