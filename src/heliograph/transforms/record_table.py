"""Records as an Arrow table with the columns of Spark's Kafka source, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from heliograph.errors import DataError
from heliograph.transforms.message import Header, Message
from heliograph.transforms.stage import Outcome

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC")),
        pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


class BadTable(ValueError):
    """A table that cannot be understood; the text goes on after `returned`."""


class RecordTable:
    """Some messages as a table; their offsets tell which row is which."""

    def __init__(self, messages: Sequence[Message], who: str) -> None:
        self._messages = messages
        self._who = who
        self._unwritten: dict[int, DataError] = {}
        self.rows = [row for message in messages if (row := self._row(message)) is not None]

    def arrow(self) -> pa.Table:
        """The table."""
        self._table = pa.table([list(column) for column in zip(*self.rows, strict=True)], schema=SCHEMA)
        return self._table

    def outcomes(self, returned: Any) -> list[Outcome]:
        """What becomes of each message, now that the user has given back a table; BadTable if it is none."""
        left = {} if not self.rows else self._left(returned)
        return [self._outcome(message, left.get(message.offset)) for message in self._messages]

    def _row(self, message: Message) -> tuple[Any, ...] | None:
        try:
            key, value = message.key.encoded(message.topic), message.value.encoded(message.topic)
            _check_names(message.headers)
        except DataError as error:
            self._unwritten[message.offset] = error
            return None
        headers = [{"key": header.name, "value": header.value} for header in message.headers]
        return (key, value, message.topic, message.partition, message.offset, message.timestamp, headers)

    def _outcome(self, message: Message, changes: dict[str, Any] | None) -> Outcome:
        if message.offset in self._unwritten:
            return self._unwritten[message.offset]
        if changes is None:
            return None
        if problem := _problem(changes):
            return DataError(f"{self._who}: apply_batch left {problem}")
        for name, value in changes.items():
            _SETTERS[name](message, value)
        return message

    def _left(self, returned: Any) -> dict[int, dict[str, Any]]:
        """By offset, the columns of each row that are not what they were."""
        table = _as_table(returned)
        offsets = _column(table, "offset").to_pylist()
        places = {row[4]: place for place, row in enumerate(self.rows)}
        if len(set(offsets)) != len(offsets):
            raise BadTable("several rows with the same offset")
        if not places.keys() >= set(offsets):
            raise BadTable("rows with offsets that were not in the table")
        changes: dict[int, dict[str, Any]] = {offset: {} for offset in offsets}
        before = self._table.take(pa.array([places[offset] for offset in offsets], pa.int64()))
        for name in table.column_names:
            after = _column(table, name)
            if name == "offset" or after.equals(before[name]):
                continue
            for offset, old, new in zip(offsets, _values(before[name]), _values(after), strict=True):
                if old != new:
                    changes[offset][name] = new
        return changes


def _as_table(returned: Any) -> pa.Table:
    table = pa.Table.from_batches([returned]) if isinstance(returned, pa.RecordBatch) else returned
    if not isinstance(table, pa.Table):
        raise BadTable(f"{type(returned).__name__}, not a pyarrow.Table")
    if "offset" not in table.column_names:
        raise BadTable("a table without the column offset, which tells which row is which")
    if unknown := [name for name in table.column_names if name not in SCHEMA.names]:
        raise BadTable(f"a table with the column {unknown[0]}; possible are {', '.join(SCHEMA.names)}")
    if len(set(table.column_names)) != len(table.column_names):
        raise BadTable("a table with two columns of the same name")
    return table


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    column, wanted = table[name], SCHEMA.field(name).type
    try:
        made = column if column.type == wanted else column.cast(wanted, safe=not pa.types.is_timestamp(wanted))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise BadTable(f"a table whose column {name} is {column.type}, not {wanted}") from None
    if name == "offset" and made.null_count:
        raise BadTable("a table with no offset in some rows")
    return made


def _values(column: pa.ChunkedArray) -> list[Any]:
    plain = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    return list(plain.to_pylist())


def _problem(changes: dict[str, Any]) -> str:
    if "topic" in changes and not changes["topic"]:
        return "a record without a topic"
    partition = changes.get("partition", 0)
    if partition is None or partition < 0:
        return "a record without a partition"
    if any(header is None or header["key"] is None for header in changes.get("headers") or ()):
        return "a header without a name"
    return ""


def _set_headers(message: Message, items: list[dict[str, Any]] | None) -> None:
    message.headers = [Header(item["key"], item["value"]) for item in items or ()]


def _set(name: str) -> Callable[[Message, Any], None]:
    return lambda message, value: setattr(message, name, value)


_SETTERS: dict[str, Callable[[Message, Any], None]] = {
    "key": lambda message, data: message.key.replace_bytes(data),
    "value": lambda message, data: message.value.replace_bytes(data),
    "topic": _set("topic"),
    "partition": _set("partition"),
    "timestamp": _set("timestamp"),
    "headers": _set_headers,
}


def _check_names(headers: Iterable[Header]) -> None:
    for header in headers:
        try:
            header.name.encode()
        except UnicodeEncodeError:
            raise DataError(f"the name of a header is not UTF-8, which no table holds: {header.name!a}") from None
