"""Records as rows: the columns of Spark's own Kafka source, made of decoded batches and turned back into records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa

from heliograph.errors import MalformedRecord
from heliograph.kafka.plain_records import is_utf8
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int, "
    "headers array<struct<key:string,value:binary>>"
)
_HEADER = pa.struct([("key", pa.string()), ("value", pa.binary())])
HEADERS = pa.list_(_HEADER)
TIMESTAMP = pa.timestamp("us", "UTC")
_MILLISECONDS = pa.timestamp("ms", "UTC")
ARROW_SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)
CREATE_TIME, LOG_APPEND_TIME = 0, 1
NUMBER = "_number"
_BATCH_ROWS = 10_000
_BATCH_BYTES = 4 * 1024 * 1024


class Gathered:
    """Decoded records of several partitions on their way to one Arrow batch; `number` tells whose they are."""

    def __init__(self) -> None:
        self._chunks: list[tuple[TopicPartition, int, int, Sequence[Record]]] = []
        self._rows = self._bytes = 0

    def add(self, where: TopicPartition, number: int, time_type: int, decoded: Sequence[Record]) -> None:
        """Take in records of one partition, in order."""
        if decoded:
            self._chunks.append((where, number, time_type, decoded))
            self._rows += len(decoded)
            self._bytes += sum(len(record.value) for record in decoded if record.value is not None)

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        return self._rows >= _BATCH_ROWS or self._bytes >= _BATCH_BYTES

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def take(self) -> pa.RecordBatch:
        """All that was gathered, as rows."""
        return pa.RecordBatch.from_arrays(self._arrays(), schema=ARROW_SCHEMA)

    def take_numbered(self) -> pa.RecordBatch:
        """The same with one more column: whose the record is."""
        numbers = pa.array([number for _, number, _, rows in self._chunks for _ in rows], pa.int32())
        arrays = [*self._arrays(), numbers]
        return pa.RecordBatch.from_arrays(arrays, names=[*ARROW_SCHEMA.names, NUMBER])

    def _arrays(self) -> list[pa.Array]:
        chunks, self._chunks = self._chunks, []
        self._rows = self._bytes = 0
        offsets, times, keys, values, headers = zip(*(row for chunk in chunks for row in chunk[3]), strict=True)
        return [
            pa.array(keys, pa.binary()),
            pa.array(values, pa.binary()),
            pa.array([where.topic for where, _, _, rows in chunks for _ in rows], pa.string()),
            pa.array([where.partition for where, _, _, rows in chunks for _ in rows], pa.int32()),
            pa.array(offsets, pa.int64()),
            pa.array(times, _MILLISECONDS).cast(TIMESTAMP),
            pa.array([time_type for _, _, time_type, rows in chunks for _ in rows], pa.int32()),
            _headers(headers),
        ]


def check_text(decoded: Sequence[Record]) -> None:
    """Raise MalformedRecord at the first record that cannot be a row: names of headers are texts there."""
    for record in decoded:
        if record.headers and not all(is_utf8(name) for name, _ in record.headers):
            raise MalformedRecord(f"the record at offset {record.offset} has a header whose name is not UTF-8")


def _headers(columns: Sequence[Sequence[tuple[str, bytes | None]]]) -> pa.Array:
    """Lists of headers, built from flat columns: a dictionary for each header would take ten times as long."""
    flat = [header for headers in columns for header in headers]
    names = pa.array([name for name, _ in flat], pa.string())
    values = pa.array([value for _, value in flat], pa.binary())
    starts = pa.array([0, *accumulate(len(headers) for headers in columns)], pa.int32())
    return pa.ListArray.from_arrays(starts, pa.StructArray.from_arrays([names, values], fields=list(_HEADER)))


def header_pairs(column: pa.Array) -> list[list[tuple[str, bytes | None]]]:
    """The headers of each row as records have them; none where the list is null."""
    if not len(column.flatten()):
        return [[]] * len(column)
    return [[(item["key"], item["value"]) for item in row or ()] for row in column.to_pylist()]


def milliseconds(column: pa.Array) -> pa.Array:
    """Times as records have them, rounded down; null where there is none."""
    if pa.types.is_timestamp(column.type):
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        return pa.array([None if value is None else value // 1000 for value in micros.to_pylist()], pa.int64())
    return column.cast(pa.int64())
