"""What writes have remembered on the cluster: markers in a compacted topic, in the transactions that they speak of.

A task's marker tells which micro-batch it has written, and which rows; one under the name of the query tells that all
tasks of a micro-batch have. Transactions of other tasks may be open for minutes while one of them looks here, and what
lies behind their beginning counts all the same. So the topic is read uncommitted, and the ends of transactions, which
stand in it too, tell what to believe. Whoever has taken a task's transactional id knows that there will be no more of
it: its own marker is there by then, or never will be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from heliograph.errors import DataError, MalformedRecord, refuse_newer
from heliograph.kafka import batches, reading, records
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST, LogBatch
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic, SettingSource, Status
from heliograph.model import TopicPartition

TOPIC = "mm2-tables.internal"
PLACE = TopicPartition(TOPIC, 0)
# The newest segment is never compacted, so its size bounds what a process has to read.
_SETTINGS = {"cleanup.policy": "compact", "segment.bytes": str(1024 * 1024)}
_COMMIT = 1
FORMAT = 2  # before there were formats, markers had none; up to 1, sums were of keys and values alone
_SUMS_WHOLE_ROWS = 2


@dataclass(frozen=True)
class Rows:
    """Which rows a task had, in whatever order: how many, and the sum of their checksums."""

    count: int = 0
    total: int | None = 0  # None: an older marker, whose sum cannot be compared

    def are(self, others: Rows) -> bool:
        """Whether these are the same rows, as far as an older marker tells."""
        return self.count == others.count and (self.total is None or self.total == others.total)


@dataclass(frozen=True)
class Marker:
    """A micro-batch that was written; older markers do not tell which rows it had."""

    batch: int
    rows: Rows | None = None


def task_name(query: str, number: int | str) -> str:
    """Under which name a task writes its marker."""
    return f"{query}-{number}"


def encode(name: str, marker: Marker, now_ms: int) -> Record:
    """A marker as a record."""
    told: dict[str, int | None] = {"format": FORMAT, "batch": marker.batch}
    if marker.rows is not None:
        told |= {"rows": marker.rows.count, "sum": marker.rows.total}
    return Record(0, now_ms, name.encode(), json.dumps(told).encode())


def removal(name: str, now_ms: int) -> Record:
    """What ends the life of a marker."""
    return Record(0, now_ms, name.encode(), None)


def _decode(offset: int, value: bytes) -> Marker:
    place = f"{PLACE}, offset {offset}"
    try:
        told = json.loads(value)
        refuse_newer(place, told.get("format", 0), FORMAT)
        return Marker(int(told["batch"]), _rows(told) if "rows" in told else None)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedRecord(f"{place}: no marker of a micro-batch ({error!r}): {value[:40]!r}") from error


def _rows(told: Mapping[str, Any]) -> Rows:
    total = int(told["sum"])
    return Rows(int(told["rows"]), total if told.get("format", 0) >= _SUMS_WHOLE_ROWS else None)


class MarkerLog:
    """The newest marker of every name, by all transactions that have ended."""

    def __init__(self) -> None:
        self.next_offset = 0
        self._known: dict[str, Marker] = {}
        self._open: dict[int, list[Record]] = {}  # by producer

    def apply(self, batch: LogBatch) -> None:
        """Take in the next batch of the topic."""
        header = batch.header
        self.next_offset = header.last_offset + 1
        if header.is_control:
            ended = self._open.pop(header.producer_id, [])
            if header.record_count and batches.control_type(batch.data) == _COMMIT:
                self._believe(ended)
            return
        found = list(records.decode(batch.magic, batch.data))
        if header.is_transactional:
            self._open.setdefault(header.producer_id, []).extend(found)
        else:
            self._believe(found)

    def _believe(self, found: list[Record]) -> None:
        for record in found:
            name = (record.key or b"").decode()
            if record.value is None:
                self._known.pop(name, None)
            else:
                self._known[name] = _decode(record.offset, record.value)

    def of(self, name: str) -> Marker | None:
        """What was committed last under a name."""
        return self._known.get(name)

    def is_complete(self, query: str, batch: int) -> bool:
        """Whether all tasks of a micro-batch have committed; they have if there is anything of a later one."""
        whole = self._known.get(query)
        return (whole is not None and whole.batch >= batch) or any(
            marker.batch > batch for marker in self._tasks(query).values()
        )

    def committed(self, query: str, batch: int) -> frozenset[int]:
        """The tasks that have committed a micro-batch."""
        return frozenset(number for number, marker in self._tasks(query).items() if marker.batch == batch)

    def _tasks(self, query: str) -> Mapping[int, Marker]:
        start = f"{query}-"
        names = (name for name in self._known if name.startswith(start))
        return {int(name.removeprefix(start)): self._known[name] for name in names}


_logs: dict[tuple[str, UUID], MarkerLog] = {}  # processes outlive tasks, so each reads what is new


def follow(network: Network) -> MarkerLog:
    """All that the topic holds now."""
    which = (",".join(network.access.bootstrap_servers), network.topic_id(TOPIC))
    first = reading.list_offsets(network, TOPIC, {0: EARLIEST})[0]
    end = reading.list_offsets(network, TOPIC, {0: LATEST})[0]
    log = _logs.get(which)
    if log is None or log.next_offset > end:  # a cluster may have lost the end of a log
        log = _logs[which] = MarkerLog()
    span = {0: max(first, log.next_offset)}, {0: end}
    for batch in reading.read_log(network.loop, network, TOPIC, *span, isolation=READ_UNCOMMITTED):
        log.apply(batch)
    return log


def prepare_topic(admin: Admin, copies: int) -> None:
    """Create the topic, or give that of an older version its small segments where nobody has set their size."""
    if TOPIC in admin.topics([TOPIC]):
        size = admin.topic_settings([TOPIC]).get(TOPIC, {}).get("segment.bytes")
        if size is not None and size.source is not SettingSource.TOPIC:
            # Without the right to change it everything goes on, only that more is read at first.
            admin.alter_topic_settings({TOPIC: {"segment.bytes": _SETTINGS["segment.bytes"]}})
        return
    outcome = admin.create_topic(NewTopic(TOPIC, 1, min(copies, admin.broker_count()), _SETTINGS))
    if outcome.status is Status.REFUSED:
        raise DataError(f"the topic {TOPIC} cannot be created: {outcome.reason}")
    admin.wait_for_topics({TOPIC: 1})
