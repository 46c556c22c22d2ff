"""Checkpoints: where the groups of a source cluster would go on reading on the target."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from heliograph.errors import MalformedRecord
from heliograph.kafka.mm2.wire import INT16, INT32, INT64, Fields, encode_number, encode_text
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_VERSION = 0

CheckpointKey = tuple[str, TopicPartition]  # the group and the target partition


@dataclass(frozen=True)
class Checkpoint:
    """The committed offset of a group on the source, and what it is on the target."""

    group: str
    target: TopicPartition
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""

    def encode_key(self) -> bytes:
        """The record's key."""
        return encode_text(self.group) + encode_text(self.target.topic) + encode_number(self.target.partition, INT32)

    def encode_value(self) -> bytes:
        """The record's value."""
        offsets = encode_number(self.upstream_offset, INT64) + encode_number(self.downstream_offset, INT64)
        return encode_number(_VERSION, INT16) + offsets + encode_text(self.metadata)

    @staticmethod
    def decode_key(key: bytes | None) -> CheckpointKey:
        """The group and the target partition that a key names, or MalformedRecord."""
        names = Fields("the key of a checkpoint", key)
        group, topic, partition = names.text(), names.text(), names.number(INT32)
        names.expect_end()
        return group, TopicPartition(topic, partition)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Checkpoint:
        """The checkpoint in a record, or MalformedRecord."""
        group, target = cls.decode_key(key)
        fields = Fields("the value of a checkpoint", value)
        fields.expect_version(_VERSION)
        upstream, downstream, metadata = fields.number(INT64), fields.number(INT64), fields.text()
        fields.expect_end()
        return cls(group, target, upstream, downstream, metadata)


def newest_checkpoints(records: Iterable[Record]) -> dict[CheckpointKey, Checkpoint]:
    """The last checkpoint of each group and partition; what is no checkpoint counts for nobody."""
    found: dict[CheckpointKey, Checkpoint] = {}
    for record in records:
        with suppress(MalformedRecord):
            if record.value is None:
                found.pop(Checkpoint.decode_key(record.key), None)
            else:
                item = Checkpoint.decode(record.key, record.value)
                found[item.group, item.target] = item
    return found
