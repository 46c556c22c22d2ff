"""Offset syncs: pairs of offsets of the same record on source and target."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.kafka.mm2.wire import INT32, INT64, Fields, encode_number, encode_text
from heliograph.model import TopicPartition


@dataclass(frozen=True)
class OffsetSync:
    """A record of a source partition, and its offset on the target."""

    source: TopicPartition
    upstream_offset: int
    downstream_offset: int

    def encode_key(self) -> bytes:
        """The record's key."""
        return encode_text(self.source.topic) + encode_number(self.source.partition, INT32)

    def encode_value(self) -> bytes:
        """The record's value, which carries no version."""
        return encode_number(self.upstream_offset, INT64) + encode_number(self.downstream_offset, INT64)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> OffsetSync:
        """The offset sync in a record, or MalformedRecord."""
        names = Fields("the key of an offset sync", key)
        source = TopicPartition(names.text(), names.number(INT32))
        names.expect_end()
        fields = Fields("the value of an offset sync", value)
        upstream, downstream = fields.number(INT64), fields.number(INT64)
        fields.expect_end()
        return cls(source, upstream, downstream)
