"""Logs that are laid down as files while their broker is dead: no producer writes millions of small batches in time."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import records
from heliograph.kafka.batches import NOBODY, ProducerStamp
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.zoo.handmade import marker

Placed = tuple[int, bytes]  # the offset of the first record, and the batch

_OFFSET, _LEADER_EPOCH = struct.Struct(">q"), struct.Struct(">i")
_LEADER_EPOCH_AT = 12


def batch_of(some: Sequence[Record], stamp: ProducerStamp = NOBODY) -> bytes:
    """One batch, as the first leader of a partition keeps it."""
    return _of_first_leader(records.encode(some, stamp, -1 if stamp is NOBODY else 0))


def committed(producer_id: int) -> bytes:
    """The marker that ends a transaction."""
    return _of_first_leader(bytearray(marker(0, producer_id, commit=True)))


def _of_first_leader(batch: bytearray) -> bytes:
    _LEADER_EPOCH.pack_into(batch, _LEADER_EPOCH_AT, 0)
    return bytes(batch)


def in_a_row(batches: Iterable[bytes]) -> Iterable[Placed]:
    """Batches of one record each, without gaps."""
    return enumerate(batches)


def lay_down(cluster: EmbeddedCluster, where: TopicPartition, batches: Iterable[Placed]) -> None:
    """Make these batches the log of a partition that is empty, and whose only broker is dead."""
    folder = cluster.brokers[0].spec.folder / "data" / str(where)
    for stale in (*folder.glob("*.index"), *folder.glob("*.timeindex")):
        stale.unlink()
    with open(folder / "00000000000000000000.log", "wb") as log:
        for offset, batch in batches:  # the checksum does not cover the offset
            log.write(_OFFSET.pack(offset))
            log.write(memoryview(batch)[8:])
