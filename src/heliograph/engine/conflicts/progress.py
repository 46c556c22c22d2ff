"""How far detection on a cluster has come: one record for each task, in the same transaction as what it tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

import msgspec

from heliograph.conflicts.bucket import BUCKETS, Resumption
from heliograph.engine.conflicts.step import Mark
from heliograph.errors import MalformedRecord, refuse_newer
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

FORMAT = 1  # before there were formats, records had none
_OWNER = b"owner"


class Progress(msgspec.Struct, frozen=True):
    """What a task has committed last."""

    run: str  # as whoever runs it has announced himself
    epoch: int
    places: dict[str, dict[int, int]]  # what had been read
    buckets: dict[int, Mark]
    topic_ids: dict[str, str] = {}
    format: int = FORMAT


class _Owner(msgspec.Struct, frozen=True):
    owner: str
    format: int = FORMAT


class _Format(msgspec.Struct, frozen=True):
    format: int = 0


_Content = TypeVar("_Content")
_encode = msgspec.json.Encoder().encode
_format = msgspec.json.Decoder(_Format)
_progress = msgspec.json.Decoder(Progress)
_owner = msgspec.json.Decoder(_Owner)


def _decoded(record: Record, decoder: msgspec.json.Decoder[_Content]) -> _Content:
    """NewerFormat, or MalformedRecord, if we cannot tell what it says."""
    try:
        refuse_newer(f"offset {record.offset}", _format.decode(record.value or b"").format, FORMAT)
        return decoder.decode(record.value or b"")
    except (msgspec.DecodeError, UnicodeError) as error:
        raise MalformedRecord(f"offset {record.offset}: not what detection writes: {error}") from error


def progress_record(task: int, progress: Progress, now_ms: int) -> Record:
    """What a task writes with each transaction."""
    return Record(0, now_ms, _key(task), _encode(progress))


def owner_record(owner: str, now_ms: int) -> Record:
    """What whoever takes over writes first."""
    return Record(0, now_ms, _OWNER, _encode(_Owner(owner)))


def progress_of(record: Record, task: int) -> Progress | None:
    """The progress of one task, if the record tells it."""
    return _decoded(record, _progress) if record.key == _key(task) and record.value else None


def run_of(record: Record) -> str:
    """The run that a record of the topic belongs to; empty if it says nothing."""
    if record.value is None:
        return ""
    return _decoded(record, _owner).owner if record.key == _OWNER else _decoded(record, _progress).run


class KnownProgress:
    """All that the topic tells, read from its beginning."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.owner = ""
        self._newest: dict[int, Progress] = {}  # by bucket: tasks may have been more or fewer
        for record in records:
            self.add(record)

    def add(self, record: Record) -> None:
        """Take a record into account."""
        if record.value is None:
            return
        if record.key == _OWNER:
            self.owner = _decoded(record, _owner).owner
            return
        progress = _decoded(record, _progress)
        for bucket in progress.buckets:
            self._newest[bucket] = progress

    def topics_made_anew(self, topic_ids: Mapping[str, str]) -> set[str]:
        """The topics that are no longer those which were read, though they are called the same."""
        before = {topic: id_ for progress in self._newest.values() for topic, id_ in progress.topic_ids.items()}
        return {topic for topic, id_ in topic_ids.items() if before.get(topic, id_) != id_}

    def without(self, topics: Collection[str]) -> KnownProgress:
        """The same without what is known of some topics."""
        known = KnownProgress()
        known.owner = self.owner
        known._newest = {bucket: _without(progress, topics) for bucket, progress in self._newest.items()}
        return known

    def resumption(self, bucket: int) -> Resumption | None:
        """Where a bucket goes on."""
        progress = self._newest.get(bucket)
        if progress is None:
            return None
        mark = progress.buckets[bucket]
        return Resumption(mark.watermark_ms, progress.places, mark.cuts)

    def read_to(self) -> dict[TopicPartition, tuple[int, int]]:
        """What has been read: by the bucket that is furthest behind, and by the one that is furthest ahead."""
        found: dict[TopicPartition, tuple[int, int]] = {}
        for progress in self._newest.values():
            for topic, numbers in progress.places.items():
                for number, offset in numbers.items():
                    where = TopicPartition(topic, number)
                    least, most = found.get(where, (offset, offset))
                    found[where] = min(least, offset), max(most, offset)
        return found

    def oldest_ms(self) -> int | None:
        """The time of the oldest record that some bucket still waits with."""
        marks = [progress.buckets[bucket] for bucket, progress in self._newest.items()]
        return min((mark.oldest_ms for mark in marks if mark.oldest_ms is not None), default=None)

    @property
    def watermark_ms(self) -> int | None:
        """Up to when all buckets have settled; None if one has never been told."""
        if len(self._newest) < BUCKETS:
            return None
        return min(progress.buckets[bucket].watermark_ms for bucket, progress in self._newest.items())


def _without(progress: Progress, topics: Collection[str]) -> Progress:
    places = {topic: numbers for topic, numbers in progress.places.items() if topic not in topics}
    return msgspec.structs.replace(progress, places=places)


def _key(task: int) -> bytes:
    return f"task-{task}".encode()
