"""Heartbeats: proof that records get from one cluster to another."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.kafka.mm2.wire import INT16, INT64, Fields, encode_number, encode_text

_VERSION = 0


@dataclass(frozen=True)
class Heartbeat:
    """Written to the target of a flow every second or so, and mirrored from there like any record."""

    source_alias: str
    target_alias: str
    timestamp_ms: int

    def encode_key(self) -> bytes:
        """The record's key."""
        return encode_text(self.source_alias) + encode_text(self.target_alias)

    def encode_value(self) -> bytes:
        """The record's value."""
        return encode_number(_VERSION, INT16) + encode_number(self.timestamp_ms, INT64)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Heartbeat:
        """The heartbeat in a record, or MalformedRecord."""
        names = Fields("the key of a heartbeat", key)
        source_alias, target_alias = names.text(), names.text()
        names.expect_end()
        fields = Fields("the value of a heartbeat", value)
        fields.expect_version(_VERSION)
        timestamp_ms = fields.number(INT64)
        fields.expect_end()
        return cls(source_alias, target_alias, timestamp_ms)
