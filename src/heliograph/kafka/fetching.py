"""Fetch requests and responses, with incremental fetch sessions, on the bytes themselves.

A session (KIP-227) lets a broker remember the partitions: a request names only those whose position has changed, a
response only those with news. So thousands of quiet partitions cost next to nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from heliograph.kafka.encoding import Reader, compact_string, uvarint

API_KEY = 1
LOWEST_VERSION, HIGHEST_VERSION = 12, 17
_TOPIC_ID_VERSION = 13

_PARTITION = struct.Struct(">iiqiqi")  # partition, leader epoch, offset, last fetched epoch, log start, max bytes
_HEAD = struct.Struct(">iiibii")  # max wait, min bytes, max bytes, isolation, session id, session epoch
_PARTITION_HEAD = struct.Struct(">ihqqq")  # partition, error, high watermark, last stable offset, log start
_ABORTED = struct.Struct(">qq")
_EPOCH_END = struct.Struct(">iq")

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
_NO_SESSION = -1
_NO_ID = UUID(int=0)


@dataclass(frozen=True)
class FetchLimits:
    """How much to ask for, and how long a broker may wait for more."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 8 * 1024 * 1024
    partition_max_bytes: int = 2 * 1024 * 1024
    isolation: int = READ_COMMITTED
    rack: str = ""


@dataclass
class FetchPoint:
    """Where to read one partition, and what we believe of its leader."""

    topic: str
    topic_id: UUID
    partition: int
    offset: int
    leader_epoch: int = -1
    last_fetched_epoch: int = -1


@dataclass(frozen=True)
class Fetched:
    """What a broker said of one partition."""

    point: FetchPoint
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start_offset: int
    diverging: tuple[int, int] | None
    preferred_replica: int
    aborted: Sequence[tuple[int, int]]
    records: memoryview


@dataclass
class FetchResult:
    """One response: a session error, or what happened to each partition."""

    error_code: int
    throttle_ms: int
    partitions: list[Fetched] = field(default_factory=list)


class FetchSession:
    """All partitions that one lane reads from one broker."""

    def __init__(self, version: int, limits: FetchLimits, is_remembered: bool = True) -> None:
        self.version = version
        self._is_remembered = is_remembered  # brokers have room for few sessions: short reads do without
        self.limits = limits  # of the next request
        self._by_id = self._asked_by_id = version >= _TOPIC_ID_VERSION
        self._points: dict[tuple[bytes, int], FetchPoint] = {}
        self._changed: set[tuple[bytes, int]] = set()
        self._forgotten: list[tuple[bytes, int]] = []
        self._session_id = 0
        self._session_epoch = 0
        self.prefers_rack = True  # whether the leader may send us to a replica in our rack

    def __len__(self) -> int:
        return len(self._points)

    def __contains__(self, point: FetchPoint) -> bool:
        return self._points.get(self._key(point)) is point

    @property
    def points(self) -> list[FetchPoint]:
        """All partitions that are read."""
        return list(self._points.values())

    def add(self, point: FetchPoint) -> None:
        """Begin to read a partition."""
        if self._by_id and point.topic_id == _NO_ID:
            self._ask_by_names()
        key = self._key(point)
        self._points[key] = point
        self._changed.add(key)
        if key in self._forgotten:  # a broker forgets last, so a partition must not be named in both lists
            self._forgotten.remove(key)

    def moved(self, point: FetchPoint) -> None:
        """Tell the broker about a new position with the next request."""
        key = self._key(point)
        if key in self._points:
            self._changed.add(key)

    def remove(self, point: FetchPoint) -> None:
        """Stop reading a partition."""
        key = self._key(point)
        if self._points.pop(key, None) is not None:
            self._changed.discard(key)
            self._forgotten.append(key)

    def reset(self) -> None:
        """Begin a new session: the next request names every partition."""
        self._session_id = self._session_epoch = 0

    def _ask_by_names(self) -> None:
        """A cluster that was updated only half-way gives no ids to topics, though its brokers could ask for them."""
        self.version, self._by_id = LOWEST_VERSION, False
        self._points = {self._key(point): point for point in self._points.values()}
        self.reset()

    def encode(self) -> bytes:
        """The next request."""
        limits = self.limits
        self._asked_by_id = self._by_id
        if self._session_epoch == 0:
            self._changed = set(self._points)
            self._forgotten = []
        pieces = [] if self.version >= 15 else [b"\xff\xff\xff\xff"]  # we are no replica
        pieces.append(_HEAD.pack(
            limits.max_wait_ms, limits.min_bytes, limits.max_bytes, limits.isolation,
            self._session_id, self._session_epoch if self._is_remembered else _NO_SESSION,
        ))  # fmt: skip
        pieces.append(self._encode_points(self._changed))
        pieces.append(self._encode_forgotten())
        pieces.append(compact_string(limits.rack if self.prefers_rack else ""))
        pieces.append(b"\0")
        self._changed = set()
        self._forgotten = []
        return b"".join(pieces)

    def decode(self, body: memoryview) -> FetchResult:
        """A response, after its header; the records stay where they are in the buffer."""
        reader = Reader(body, 5)
        throttle_ms, error_code, session_id = reader.int32(), reader.int16(), reader.int32()
        result = FetchResult(error_code, throttle_ms)
        if error_code:
            self.reset()
            return result
        if self._asked_by_id == self._by_id:
            self._session_id = session_id
            self._session_epoch = self._session_epoch % 0x7FFFFFFF + 1 if session_id else 0
        for _ in range(reader.uvarint() - 1):
            topic = bytes(reader.take(16)) if self._asked_by_id else bytes(reader.compact_bytes())
            for _ in range(reader.uvarint() - 1):
                fetched = self._decode_partition(reader, self._topic_key(topic))
                if fetched is not None:
                    result.partitions.append(fetched)
            reader.tags()
        return result

    def _decode_partition(self, reader: Reader, topic: bytes) -> Fetched | None:
        partition, error_code, high, stable, start = _PARTITION_HEAD.unpack_from(reader.data, reader.position)
        reader.position += _PARTITION_HEAD.size
        aborted = [_aborted(reader) for _ in range(reader.uvarint() - 1)]
        preferred_replica = reader.int32()
        records = reader.compact_bytes()
        tags = reader.tags()
        diverging = _EPOCH_END.unpack_from(tags[0]) if 0 in tags else None
        point = self._points.get((topic, partition))
        if point is None:
            return None
        return Fetched(point, error_code, high, stable, start, diverging, preferred_replica, aborted, records)

    def _topic_key(self, topic: bytes) -> bytes:
        """What a topic is kept under here; an answer may still have the ids that it was asked for by."""
        if self._asked_by_id == self._by_id:
            return topic
        return next((point.topic.encode() for point in self._points.values() if point.topic_id.bytes == topic), b"")

    def _key(self, point: FetchPoint) -> tuple[bytes, int]:
        return (point.topic_id.bytes if self._by_id else point.topic.encode(), point.partition)

    def _encode_points(self, keys: Iterable[tuple[bytes, int]]) -> bytes:
        pieces = []
        topics = _by_topic(keys)
        for topic, partitions in topics.items():
            pieces.append(self._encode_topic(topic))
            pieces.append(uvarint(len(partitions) + 1))
            for partition in partitions:
                point = self._points[topic, partition]
                pieces.append(_PARTITION.pack(
                    partition, point.leader_epoch, point.offset, point.last_fetched_epoch, -1,
                    self.limits.partition_max_bytes,
                ))  # fmt: skip
                pieces.append(b"\0")
            pieces.append(b"\0")
        return uvarint(len(topics) + 1) + b"".join(pieces)

    def _encode_forgotten(self) -> bytes:
        topics = _by_topic(self._forgotten)
        pieces = [uvarint(len(topics) + 1)]
        for topic, partitions in topics.items():
            pieces.append(self._encode_topic(topic))
            pieces.append(uvarint(len(partitions) + 1))
            pieces.extend(partition.to_bytes(4, "big") for partition in partitions)
            pieces.append(b"\0")
        return b"".join(pieces)

    def _encode_topic(self, topic: bytes) -> bytes:
        return topic if self._by_id else uvarint(len(topic) + 1) + topic


def _by_topic(keys: Iterable[tuple[bytes, int]]) -> dict[bytes, list[int]]:
    topics: dict[bytes, list[int]] = {}
    for topic, partition in keys:
        topics.setdefault(topic, []).append(partition)
    return topics


def _aborted(reader: Reader) -> tuple[int, int]:
    producer_id, first_offset = _ABORTED.unpack_from(reader.data, reader.position)
    reader.position += _ABORTED.size
    reader.tags()
    return producer_id, first_offset
