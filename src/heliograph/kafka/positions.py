"""Positions in MirrorMaker 2's own offsets topic, under its exact key bytes, so that either can go on for the other."""

from __future__ import annotations

import json
from typing import Any

from kafka.partitioner.default import murmur2

from heliograph.errors import MalformedRecord, refuse_newer
from heliograph.kafka.records import Record
from heliograph.model import Position, TopicPartition

FORMAT = 1  # of our fields; before there were formats, and in what MirrorMaker 2 writes, there is none
_CONNECTOR = "MirrorSourceConnector"


def encode_key(cluster: str, source: TopicPartition) -> bytes:
    """The key that Kafka Connect gives the position: its lookup compares bytes, so order and spacing matter."""
    where = {"cluster": cluster, "partition": source.partition, "topic": source.topic}
    return json.dumps([_CONNECTOR, where], separators=(",", ":"), ensure_ascii=False).encode()


def decode_key(key: bytes) -> tuple[str, TopicPartition] | None:
    """The source cluster and partition that a key names; None when the key is another connector's."""
    try:
        connector, where = json.loads(key)
        if connector == _CONNECTOR:
            return where["cluster"], TopicPartition(where["topic"], int(where["partition"]))
    except (ValueError, TypeError, KeyError):
        pass
    return None


def encode_value(position: Position) -> bytes:
    """Flat fields only: MirrorMaker 2 reads `offset`, ignores other plain values, and stumbles over nested ones."""
    fields: dict[str, Any] = {"offset": position.offset, "format": FORMAT}
    if position.target_offset >= 0:
        fields["targetOffset"] = position.target_offset
    if position.topic_id:
        fields["topicId"] = position.topic_id
    if position.leader_epoch >= 0:
        fields["leaderEpoch"] = position.leader_epoch
    if position.target_topic_id:
        fields["targetTopicId"] = position.target_topic_id
    if position.target_lost_from >= 0:
        fields["targetLostFrom"] = position.target_lost_from
    if position.producer_id >= 0:
        fields["producerId"] = position.producer_id
        fields["producerEpoch"] = position.producer_epoch
        fields["sequence"] = position.sequence
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_value(value: bytes | None) -> Position | None:
    """A position that we or MirrorMaker 2 wrote; None for a deleted one."""
    if not value:
        return None
    try:
        fields = json.loads(value)
        if not fields:
            return None
        refuse_newer("a position", fields.get("format", 0), FORMAT)
        return Position(
            int(fields["offset"]),
            int(fields.get("targetOffset", -1)),
            str(fields.get("topicId", "")),
            int(fields.get("leaderEpoch", -1)),
            str(fields.get("targetTopicId", "")),
            int(fields.get("targetLostFrom", -1)),
            int(fields.get("producerId", -1)),
            int(fields.get("producerEpoch", -1)),
            int(fields.get("sequence", 0)),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MalformedRecord(f"a position is not what it should be: {value[:200]!r}") from error


def apply(known: dict[TopicPartition, Position], cluster: str, key: bytes | None, value: bytes | None) -> None:
    """Take one record of the offsets topic into a map of positions; records of others are passed over."""
    named = decode_key(key or b"")
    if named is None or named[0] != cluster:
        return
    position = decode_value(value)
    if position is None:
        known.pop(named[1], None)
    else:
        known[named[1]] = position


def take_in(known: dict[TopicPartition, Position], cluster: str, home: TopicPartition, record: Record) -> None:
    """As `apply`; what cannot be read tells where it is."""
    try:
        apply(known, cluster, record.key, record.value)
    except MalformedRecord as error:
        raise type(error)(f"{home}, offset {record.offset}: {error}") from error


def partition_for(key: bytes, partition_count: int) -> int:
    """The partition of the offsets topic where Java's default partitioner puts a key."""
    return int(murmur2(key) & 0x7FFFFFFF) % partition_count
