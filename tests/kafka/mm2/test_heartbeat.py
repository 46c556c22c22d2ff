from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord
from heliograph.kafka.mm2.heartbeat import Heartbeat
from tests.kafka.mm2.spoilt import spoilt

# As MirrorMaker 2 4.3.1 wrote them.
KEY = b"\x00\x05north\x00\x05south"
VALUE = b"\x00\x00\x00\x00\x01\xa1\xe0\x9fP\xdd"
HEARTBEAT = Heartbeat("north", "south", 1794769899741)

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_bytes_are_those_of_mirrormaker() -> None:
    assert Heartbeat.decode(KEY, VALUE) == HEARTBEAT
    assert (HEARTBEAT.encode_key(), HEARTBEAT.encode_value()) == (KEY, VALUE)


@given(st.builds(Heartbeat, names, names, st.integers(-(2**63), 2**63 - 1)))
def test_what_was_written_is_read_back(heartbeat: Heartbeat) -> None:
    assert Heartbeat.decode(heartbeat.encode_key(), heartbeat.encode_value()) == heartbeat


@pytest.mark.parametrize(("key", "value", "reason"), spoilt("heartbeat", KEY, VALUE))
def test_other_records_are_refused(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecord, match=reason):
        Heartbeat.decode(key, value)
