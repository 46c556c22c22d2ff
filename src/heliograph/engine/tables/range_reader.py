"""Reads a range of offsets into Arrow batches, committed records only."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from heliograph.engine.tables.columns import CREATE_TIME, LOG_APPEND_TIME, Gathered
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.errors import DataError
from heliograph.kafka import batches, reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened

_PATIENCE = 24 * 3600.0  # for the whole range, which ends before the first open transaction


def read_range(access: Access, chosen: OffsetRange) -> Iterator[pa.RecordBatch]:
    """The records of a range as rows."""
    (topic, number), first, end = chosen
    gathered = Gathered()
    with opened(access, [topic]) as (loop, network):
        for piece in reading.read_batches(loop, network, topic, {number: first}, {number: end}, _PATIENCE):
            if piece.magic >= 2 and not batches.is_intact(piece.data, piece.header):
                raise DataError(f"{chosen.where}: the batch at offset {piece.header.base_offset} fails its checksum")
            is_append_time = piece.magic >= 2 and piece.header.attributes & batches.LOG_APPEND_TIME
            wanted = [record for record in records.decode(piece.magic, piece.data) if first <= record.offset < end]
            time_type = LOG_APPEND_TIME if is_append_time else CREATE_TIME
            gathered.add(chosen.where, 0, time_type, wanted)
            if gathered.is_full:
                yield gathered.take()
    if gathered:
        yield gathered.take()
