"""What MirrorMaker 2 wrote is read, and written again with the same bytes."""

from __future__ import annotations

import time
from typing import Protocol

import pytest

from heliograph.kafka.mm2.checkpoint import Checkpoint
from heliograph.kafka.mm2.heartbeat import Heartbeat
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.kafka.records import Record
from heliograph.model import Run, TopicPartition
from heliograph.sync.offset_sync_store import OffsetSyncStore
from heliograph.sync.offset_syncs import OffsetSyncEmitter
from tests.oracle.mirrored import (
    CHECKPOINTS,
    COMMITTED,
    GROUP,
    HEARTBEATS,
    MAX_LAG,
    METADATA,
    OFFSET_SYNCS,
    RECORDS,
    TOPIC,
    Mirrored,
    records_of,
)

pytestmark = [pytest.mark.kafka, pytest.mark.oracle]

SOURCE = TopicPartition(TOPIC, 0)


class Encoded(Protocol):
    def encode_key(self) -> bytes: ...

    def encode_value(self) -> bytes: ...


def assert_same_bytes(records: list[Record], decoded: list[Encoded]) -> None:
    assert [(one.encode_key(), one.encode_value()) for one in decoded] == [(one.key, one.value) for one in records]


@pytest.mark.parametrize("topic", [HEARTBEATS, f"north.{HEARTBEATS}"])
def test_heartbeats(mirrored: Mirrored, topic: str) -> None:
    records = records_of(mirrored.south, topic)
    found = [Heartbeat.decode(record.key, record.value) for record in records]
    assert_same_bytes(records, list(found))
    aliases = ("north", "south") if topic == HEARTBEATS else ("south", "north")
    assert {(heartbeat.source_alias, heartbeat.target_alias) for heartbeat in found} == {aliases}
    now_ms = time.time() * 1000
    assert all(now_ms - 300_000 < heartbeat.timestamp_ms <= now_ms for heartbeat in found)


def test_checkpoints(mirrored: Mirrored) -> None:
    records = records_of(mirrored.south, CHECKPOINTS)
    found = [Checkpoint.decode(record.key, record.value) for record in records]
    assert_same_bytes(records, list(found))
    last = found[-1]
    assert (last.group, last.target) == (GROUP, TopicPartition(f"north.{TOPIC}", 0))
    assert (last.upstream_offset, last.metadata) == (COMMITTED, METADATA)


def test_offset_syncs(mirrored: Mirrored) -> None:
    records = records_of(mirrored.north, OFFSET_SYNCS)
    assert_same_bytes(records, [OffsetSync.decode(record.key, record.value) for record in records])


def test_offset_syncs_are_among_those_that_our_rules_ask_for(mirrored: Mirrored) -> None:
    """MirrorMaker 2 leaves out a sync when a newer one comes before it was sent; it never adds one."""
    emitter = OffsetSyncEmitter(MAX_LAG)
    expected: list[OffsetSync] = []
    for offset in range(RECORDS):
        emitter.mirrored(SOURCE, Run(offset, offset, 1))
        expected += emitter.take_due()
    expected += emitter.take_all()
    written = offset_syncs(mirrored)
    assert set(written) <= set(expected)
    assert (written[0], written[-1]) == (expected[0], expected[-1])


def test_checkpoints_are_what_our_store_makes_of_the_syncs(mirrored: Mirrored) -> None:
    """Which syncs MirrorMaker 2 had seen when it wrote a checkpoint is not known, so any state of the store will do."""
    store = OffsetSyncStore()
    store.reached_end()
    possible: set[int | None] = set()
    for sync in offset_syncs(mirrored):
        store.add(sync)
        possible.add(store.translate(SOURCE, COMMITTED))
    records = records_of(mirrored.south, CHECKPOINTS)
    assert {Checkpoint.decode(record.key, record.value).downstream_offset for record in records} <= possible


def offset_syncs(mirrored: Mirrored) -> list[OffsetSync]:
    """Those of the mirrored topic, in the order in which they were written."""
    records = records_of(mirrored.north, OFFSET_SYNCS)
    found = [OffsetSync.decode(record.key, record.value) for record in records]
    return [sync for sync in found if sync.source == SOURCE]
