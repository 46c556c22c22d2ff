"""Produce requests made of batches that stay where they are, and what brokers answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from heliograph.kafka.connection import Buffer
from heliograph.kafka.encoding import INT32, Reader, compact_string, uvarint

API_KEY = 0
LOWEST_VERSION, HIGHEST_VERSION = 9, 11
JOINING_VERSION = 12  # joins its partitions to the transaction by itself


class Batch(NamedTuple):
    """One batch on its way to one partition of the target."""

    topic: str
    partition: int
    data: Buffer


class Appended(NamedTuple):
    """What became of one batch."""

    topic: str
    partition: int
    error_code: int
    base_offset: int
    message: str


def encode(batches: Sequence[Batch], transactional_id: str | None, acks: int, timeout_ms: int) -> list[Buffer]:
    """A request as pieces, of which the batches themselves are some. At most one batch for a partition."""
    topics: dict[str, list[Batch]] = {}
    for batch in batches:
        topics.setdefault(batch.topic, []).append(batch)
    name = compact_string(transactional_id) if transactional_id else b"\0"
    pieces: list[Buffer] = []
    text = name + acks.to_bytes(2, "big", signed=True) + INT32.pack(timeout_ms) + uvarint(len(topics) + 1)
    for topic, members in topics.items():
        text += compact_string(topic) + uvarint(len(members) + 1)
        for batch in members:
            pieces.append(text + INT32.pack(batch.partition) + uvarint(len(batch.data) + 1))
            pieces.append(batch.data)
            text = b"\0"
        text += b"\0"
    pieces.append(text + b"\0")
    return pieces


def decode(body: memoryview) -> tuple[list[Appended], int]:
    """What became of each batch of a request, and how long the broker wants us to wait (ms)."""
    reader = Reader(body, 5)
    answers = []
    for _ in range(reader.uvarint() - 1):
        topic = bytes(reader.compact_bytes()).decode()
        for _ in range(reader.uvarint() - 1):
            answers.append(_decode_partition(reader, topic))
        reader.tags()
    return answers, reader.int32()


def _decode_partition(reader: Reader, topic: str) -> Appended:
    partition, error_code, base_offset = reader.int32(), reader.int16(), reader.int64()
    reader.position += 16  # append time, log start
    messages = []
    for _ in range(reader.uvarint() - 1):
        reader.int32()
        messages.append(bytes(reader.compact_bytes()).decode())
        reader.tags()
    messages.append(bytes(reader.compact_bytes()).decode())
    reader.tags()
    return Appended(topic, partition, error_code, base_offset, "; ".join(text for text in messages if text))
