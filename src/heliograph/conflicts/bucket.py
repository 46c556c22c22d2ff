"""A part of all keys, as one step of detection leaves it to the next: what waits, and what it comes to.

Keys are dealt to a fixed number of buckets. A bucket is told what was read since the step before, and up to which time
all has been read. That alone decides what it tells: the same steps give the same answers when they are repeated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from zlib import crc32

import msgspec

from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.timeline import NO_WATERMARK, Cut, Settled, Timeline

BUCKETS = 16

Key = tuple[str, bytes]  # a logical topic and a key of it


def bucket_of(topic: str, key: bytes) -> int:
    """The bucket that a key of a logical topic belongs to."""
    return crc32(key, crc32(topic.encode())) % BUCKETS


class CutKey(msgspec.Struct, frozen=True, array_like=True):
    """A key whose conflict went on for too long, and where it was cut."""

    topic: str
    key: bytes
    cut: Cut


class Resumption(msgspec.Struct, frozen=True, array_like=True):
    """How far a bucket had come when detection was interrupted."""

    watermark_ms: int
    places: dict[str, dict[int, int]]  # what had been read
    cuts: list[CutKey]

    def has_seen(self, record: Candidate) -> bool:
        """Whether the bucket had taken the record in."""
        return record.offset < self.places.get(record.topic, {}).get(record.partition, 0)


class _State(msgspec.Struct, array_like=True):
    watermark_ms: int
    quiet: dict[str, dict[bytes, list[Candidate]]]
    met: list[tuple[str, bytes, bytes]]


class Found(msgspec.Struct):
    """What one step has brought."""

    settled: list[Settled]  # those of one key in their order
    late: list[Candidate]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_State).decode


class Bucket:
    """The records of many keys that may still conflict.

    Most keys are written in one place only. Their records need no timeline: each is settled by itself when its time has
    come. A key that was seen from a second place gets one, for as long as anything of it waits.
    """

    def __init__(self, bounds: Bounds, watermark_ms: int = NO_WATERMARK) -> None:
        self._bounds = bounds
        self._watermark_ms = watermark_ms
        self._quiet: dict[str, dict[bytes, list[Candidate]]] = {}  # by logical topic, then by key
        self._met: dict[Key, Timeline] = {}

    @classmethod
    def from_bytes(cls, bounds: Bounds, data: bytes) -> Bucket:
        """A bucket as `to_bytes` left it."""
        state = _decode(data)
        bucket = cls(bounds, state.watermark_ms)
        bucket._quiet = state.quiet
        bucket._met = {(topic, key): Timeline.from_bytes(bounds, kept) for topic, key, kept in state.met}
        return bucket

    @classmethod
    def resumed(cls, bounds: Bounds, before: Resumption, records: Iterable[Candidate]) -> Bucket:
        """The bucket that one was which had come so far, from the records that it had seen and may not have settled."""
        bucket = cls(bounds, before.watermark_ms)
        cuts = {(item.topic, item.key): item.cut for item in before.cuts}
        for place, group in _by_key(records).items():
            timeline = Timeline.resumed(bounds, before.watermark_ms, group, cuts.get(place))
            if not timeline.is_empty:
                bucket._met[place] = timeline
        return bucket

    def to_bytes(self) -> bytes:
        """All that must be known to go on later."""
        met = [(topic, key, timeline.to_bytes()) for (topic, key), timeline in self._met.items()]
        return _encode(_State(self._watermark_ms, self._quiet, met))

    def __len__(self) -> int:
        return sum(map(len, self._quiet_groups())) + sum(map(len, self._met.values()))

    @property
    def watermark_ms(self) -> int:
        """All that was written before this time is settled, or comes too late."""
        return self._watermark_ms

    @property
    def oldest_ms(self) -> int | None:
        """The time of the oldest record that waits."""
        return min((record.timestamp_ms for record in self._waiting()), default=None)

    @property
    def cuts(self) -> list[CutKey]:
        """The keys whose conflicts were cut, and go on."""
        return [CutKey(*place, cut) for place, timeline in self._met.items() if (cut := timeline.cut) is not None]

    def step(self, records: Iterable[Candidate], watermark_ms: int) -> Found:
        """Take records in, and tell what is final now that all of an earlier time than the watermark has been read."""
        late = self._add(records)
        self._watermark_ms = max(self._watermark_ms, watermark_ms)
        return Found([*self._settled_quietly(), *self._settled_of_met()], late)

    def _add(self, records: Iterable[Candidate]) -> list[Candidate]:
        late, met, watermark_ms = [], self._met, self._watermark_ms
        for record in records:
            topic, key = record.original_topic, record.key
            if record.timestamp_ms < watermark_ms:
                late.append(record)
            elif (topic, key) in met:
                met[topic, key].add(record)
            else:
                groups = self._quiet.setdefault(topic, {})
                group = groups.setdefault(key, [])
                group.append(record)
                if not _is_alike(group[0], record):
                    met[topic, key] = self._timeline(groups.pop(key))
        return late

    def _timeline(self, records: Iterable[Candidate]) -> Timeline:
        timeline = Timeline(self._bounds)
        for record in records:
            timeline.add(record)
        return timeline

    def _settled_quietly(self) -> list[Settled]:
        """Records that can meet no other any more."""
        settled: list[Settled] = []
        due_ms = self._watermark_ms - self._bounds.window_ms
        for groups in self._quiet.values():
            # Most groups are of one record, and a group is begun by its oldest record, or nearly so.
            for key in [
                key
                for key, group in groups.items()
                if group[0].timestamp_ms < due_ms or (len(group) > 1 and min(map(_time, group)) < due_ms)
            ]:
                due = [one for one in groups[key] if one.timestamp_ms < due_ms]
                due.sort(key=lambda record: record.order)
                settled.extend(due)
                groups[key] = [one for one in groups[key] if one.timestamp_ms >= due_ms]
                if not groups[key]:
                    del groups[key]
        return settled

    def _settled_of_met(self) -> list[Settled]:
        settled: list[Settled] = []
        for place, timeline in list(self._met.items()):
            settled.extend(timeline.take(self._watermark_ms))
            if timeline.is_empty:
                del self._met[place]
        return settled

    def _quiet_groups(self) -> Iterator[list[Candidate]]:
        for groups in self._quiet.values():
            yield from groups.values()

    def _waiting(self) -> Iterator[Candidate]:
        for group in self._quiet_groups():
            yield from group
        for timeline in self._met.values():
            yield from timeline.records


_time = attrgetter("timestamp_ms")


def _is_alike(one: Candidate, other: Candidate) -> bool:
    """Whether two records of a key can neither conflict, nor be the same one on two ways."""
    return one.topic == other.topic and one.origin == other.origin


def _by_key(records: Iterable[Candidate]) -> dict[Key, list[Candidate]]:
    groups: dict[Key, list[Candidate]] = {}
    for record in records:
        groups.setdefault((record.original_topic, record.key), []).append(record)
    return groups
