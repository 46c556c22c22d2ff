from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import TopicPartition

# As MirrorMaker 2 4.3.1 wrote them.
KEY = b"\x00\x06orders\x00\x00\x00\x00"
VALUE = b"\x00\x00\x00\x00\x00\x00\x001\x00\x00\x00\x00\x00\x00\x001"
OFFSET_SYNC = OffsetSync(TopicPartition("orders", 0), 49, 49)

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
offsets = st.integers(-1, 2**63 - 1)


def test_bytes_are_those_of_mirrormaker() -> None:
    assert OffsetSync.decode(KEY, VALUE) == OFFSET_SYNC
    assert (OFFSET_SYNC.encode_key(), OFFSET_SYNC.encode_value()) == (KEY, VALUE)


@given(names, st.integers(0, 2**31 - 1), offsets, offsets)
def test_what_was_written_is_read_back(topic: str, partition: int, upstream: int, downstream: int) -> None:
    sync = OffsetSync(TopicPartition(topic, partition), upstream, downstream)
    assert OffsetSync.decode(sync.encode_key(), sync.encode_value()) == sync


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, VALUE, "the key of an offset sync is missing"),
        (KEY, None, "the value of an offset sync is missing"),
        (KEY + b"\x00", VALUE, "1 bytes too many"),
        (KEY, b"\x00\x00" + VALUE, "2 bytes too many"),
        (KEY[:-1], VALUE, "ends too early"),
        (KEY, VALUE[:-1], "ends too early"),
    ],
)
def test_other_records_are_refused(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecord, match=reason):
        OffsetSync.decode(key, value)
