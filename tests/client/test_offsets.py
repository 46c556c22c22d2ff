from __future__ import annotations

import logging

import pytest

from heliograph.client.offsets import OffsetAndMetadata, latest_offsets
from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

T0, T1 = TopicPartition("a.t", 0), TopicPartition("a.t", 1)


def record(checkpoint: Checkpoint, offset: int = 0) -> Record:
    return Record(offset, 0, checkpoint.encode_key(), checkpoint.encode_value())


def everyone(_: str) -> bool:
    return True


def test_the_newest_checkpoint_counts_even_when_it_goes_back() -> None:
    records = [record(Checkpoint("g", T0, 10, 20)), record(Checkpoint("g", T0, 3, 4, "rewound"))]
    assert latest_offsets(records, everyone) == {"g": {T0: OffsetAndMetadata(4, "rewound")}}


def test_groups_and_partitions_are_kept_apart_and_others_left_out() -> None:
    records = [record(Checkpoint(group, where, 1, 2)) for group in ("g", "h", "other") for where in (T0, T1)]
    offsets = {T0: OffsetAndMetadata(2, ""), T1: OffsetAndMetadata(2, "")}
    assert latest_offsets(records, lambda group: group != "other") == {"g": offsets, "h": offsets}


def test_a_deleted_checkpoint_is_gone() -> None:
    kept, deleted = record(Checkpoint("g", T0, 1, 2)), record(Checkpoint("h", T0, 1, 2))
    records = [kept, deleted, Record(2, 0, deleted.key, None)]
    assert latest_offsets(records, everyone) == {"g": {T0: OffsetAndMetadata(2, "")}}


def test_what_cannot_be_read_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    good = record(Checkpoint("g", T0, 1, 2))
    bad = [Record(7, 0, None, b""), Record(8, 0, b"text", b"text"), Record(9, 0, good.key, b"\x00\x01")]
    with caplog.at_level(logging.WARNING):
        assert latest_offsets([*bad[:2], good, bad[2]], everyone) == {"g": {T0: OffsetAndMetadata(2, "")}}
    assert [message.split(":")[0] for message in caplog.messages] == [
        f"record {offset} of the checkpoints is left out" for offset in (7, 8, 9)
    ]
    assert "version 1" in caplog.messages[-1]
