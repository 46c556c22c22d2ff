from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.model import TopicPartition
from tests.kafka.mm2.spoilt import spoilt

# As MirrorMaker 2 4.3.1 wrote them.
KEY = b"\x00\x07billing\x00\x0cnorth.orders\x00\x00\x00\x00"
VALUE = b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x1e\x00\x00\x00\x00\x00\x00\x00\x01\x00\x10by hand: Z\xc3\xbcrich"
CHECKPOINT = Checkpoint("billing", TopicPartition("north.orders", 0), 30, 1, "by hand: Zürich")

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
offsets = st.integers(-1, 2**63 - 1)


def test_bytes_are_those_of_mirrormaker() -> None:
    assert Checkpoint.decode(KEY, VALUE) == CHECKPOINT
    assert (CHECKPOINT.encode_key(), CHECKPOINT.encode_value()) == (KEY, VALUE)


@given(names, names, st.integers(0, 2**31 - 1), offsets, offsets, names)
def test_what_was_written_is_read_back(
    group: str, topic: str, partition: int, upstream: int, downstream: int, metadata: str
) -> None:
    checkpoint = Checkpoint(group, TopicPartition(topic, partition), upstream, downstream, metadata)
    assert Checkpoint.decode(checkpoint.encode_key(), checkpoint.encode_value()) == checkpoint
    assert Checkpoint.decode_key(checkpoint.encode_key()) == (group, checkpoint.target)


@pytest.mark.parametrize(("key", "value", "reason"), spoilt("checkpoint", KEY, VALUE))
def test_other_records_are_refused(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(MalformedRecord, match=reason):
        Checkpoint.decode(key, value)
