"""Reads a range of offsets into Arrow batches, committed records only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from heliograph.engine.tables.columns import CREATE_TIME, LOG_APPEND_TIME, Gathered, check_text
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.errors import DataError, MalformedRecord
from heliograph.kafka import batches, reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.records import Record


def read_range(access: Access, chosen: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The records of a range as rows."""
    where = chosen.where
    gathered = Gathered()
    with opened(access, [where.topic]) as (loop, network):
        for piece in intact_batches(loop, network, chosen):
            is_append_time = piece.magic >= 2 and piece.header.attributes & batches.LOG_APPEND_TIME
            wanted = _decoded(piece, chosen)
            time_type = LOG_APPEND_TIME if is_append_time else CREATE_TIME
            gathered.add(where, 0, time_type, wanted)
            if gathered.is_full:
                yield gathered.take()
    if gathered:
        yield gathered.take()


def _decoded(piece: reading.CommittedBatch, chosen: OffsetRange) -> list[Record]:
    where, first, end = chosen
    try:
        wanted = [record for record in records.decode(piece.magic, piece.data) if first <= record.offset < end]
        check_text(wanted)
    except MalformedRecord as error:
        raise DataError(f"{where}: {error}") from error
    return wanted


def intact_batches(loop: Loop, network: Network, chosen: OffsetRange) -> Iterator[reading.CommittedBatch]:
    """The committed batches of a range, each as its producer made it; the first may begin before the range."""
    (topic, number), first, end = chosen
    for batch in reading.read_batches(loop, network, topic, {number: first}, {number: end}):
        try:
            check_intact(batch)
        except MalformedRecord as error:
            raise DataError(f"{chosen.where}: {error}") from error
        yield batch


def check_intact(batch: reading.CommittedBatch) -> None:
    """MalformedRecord if a batch is not what its producer has made."""
    if batch.magic >= 2 and not batches.is_intact(batch.data, batch.header):
        raise MalformedRecord(f"the batch at offset {batch.header.base_offset} fails its checksum")
