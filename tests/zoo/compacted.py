"""A compacted topic that has really been compacted: batches with holes, tombstones, a delete horizon."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.batches import DELETE_HORIZON, BatchHeader
from heliograph.kafka.records import Record
from heliograph.kafka.topics import Status
from heliograph.model import TopicPartition
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic

_SETTINGS = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}
_AT_REST = {name: str(24 * 3600 * 1000) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms")}
_CODECS = 5
_PATIENCE_SECONDS = 60
_USUAL_REST_MS = 15_000


def has_holes(header: BatchHeader) -> bool:
    """Whether compaction took some records out of a batch, and left others."""
    return 0 < header.record_count <= header.last_offset_delta


def create_compacted(bootstrap_servers: str, name: str) -> TopicPartition:
    """A compacted topic in which batches of every codec have lost records; comes back when they lose no more."""
    with hurried_cleaner(bootstrap_servers):
        where = TopicPartition(create_topic(bootstrap_servers, name, settings=_SETTINGS), 0)
        raw.append(bootstrap_servers, where, [batch for codec in range(_CODECS) for batch in _batches(codec)])
        _await_cleaning(bootstrap_servers, where)
        _await_rest(bootstrap_servers, where)
    return where


def _batches(codec: int) -> list[bytearray]:
    """A small batch with a tombstone, a large one without: compaction takes some records of each and leaves others."""
    now = int(time.time() * 1000)
    repeated = [
        Record(i, now + i, f"k{i % 3}".encode(), f"{codec}/{i}".encode(), [("i", b"%d" % i)]) for i in range(12)
    ]
    single = Record(0, now, f"only {codec}".encode(), b"stays")
    deleted = Record(0, now, f"deleted {codec}".encode(), None)
    large = Record(0, now, f"large {codec}".encode(), random.Random(codec).randbytes(10_000))
    return [
        raw.batch_of([single, *repeated, deleted, single], codec),
        raw.batch_of([*repeated, large, *repeated], codec),
    ]


@contextmanager
def hurried_cleaner(bootstrap_servers: str) -> Iterator[None]:
    """Let the cleaner look for work often. Afterwards it rests again: looking takes a sixth of a busy broker's time."""
    _let_cleaner_rest(bootstrap_servers, 100)
    try:
        yield
    finally:
        _let_cleaner_rest(bootstrap_servers, _USUAL_REST_MS)


def _let_cleaner_rest(bootstrap_servers: str, milliseconds: int) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap_servers)) as admin:
        for broker in admin.describe_cluster()["brokers"]:
            settings = {"log.cleaner.backoff.ms": str(milliseconds)}
            admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, str(broker["broker_id"]), settings)])


def _await_cleaning(bootstrap_servers: str, where: TopicPartition) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    rolls = 0
    while not _is_clean(bootstrap_servers, where):
        assert time.monotonic() < deadline, "the cleaner never came"
        # Only a record that arrives after segment.ms closes the segment before it.
        raw.append(
            bootstrap_servers, where, [raw.batch_of([Record(0, int(time.time() * 1000), b"roll", b"%d" % rolls)])]
        )
        rolls += 1
        time.sleep(0.15)


def _await_rest(bootstrap_servers: str, where: TopicPartition) -> None:
    """Let the cleaner take nothing more: who compares a copy with the topic would miss what was there a moment ago."""
    with Admin(Access("compacted", bootstrap_servers.split(","))) as admin:
        outcome = admin.alter_topic_settings({where.topic: _AT_REST})[where.topic]
        assert outcome.status is Status.DONE, outcome
    seen: list[BatchHeader] = []

    def is_at_rest() -> bool:
        nonlocal seen
        before, seen = seen, [header for header, _ in raw.fetch_batches(bootstrap_servers, where)]
        return seen == before

    wait_until(is_at_rest, "the cleaner to rest", _PATIENCE_SECONDS, 1.0)


def _is_clean(bootstrap_servers: str, where: TopicPartition) -> bool:
    headers = [header for header, _ in raw.fetch_batches(bootstrap_servers, where) if has_holes(header)]
    with_horizon = sum(bool(header.attributes & DELETE_HORIZON) for header in headers)
    return with_horizon >= _CODECS and len(headers) - with_horizon >= _CODECS
