"""The unmirrored tail: what a source had taken when it was lost, and its target never got."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from heliograph.config.flow import FlowConfig
from heliograph.engine.provenance import Provenance
from heliograph.errors import StepFailed
from heliograph.kafka import reading, records
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic, Status
from heliograph.kafka.writer import Writer
from heliograph.model import Position, TopicPartition
from heliograph.recovery.books import is_carried, read_books
from heliograph.recovery.journal import Journal
from heliograph.recovery.steps.step import Outlook, Step, Tell
from heliograph.recovery.wording import counted
from heliograph.sync.topics import create_topics, left_out, mirrored_names

_ORIGIN = ("heliograph.topic", "heliograph.partition", "heliograph.offset")
_RECORDS_A_BATCH = 500


class TailRecord(NamedTuple):
    """One record that only the source has."""

    where: TopicPartition
    record: Record

    def line(self) -> str:
        """As a line of JSON; keys and values as text where they are text, and else in base 64."""
        record = self.record
        return json.dumps(
            {
                "topic": self.where.topic,
                "partition": self.where.partition,
                "offset": record.offset,
                "timestamp": record.timestamp,
                **_content("key", record.key),
                **_content("value", record.value),
                "headers": [{"name": name, **_content("value", value)} for name, value in record.headers],
            },
            ensure_ascii=False,
        )

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Where it came from."""
        values = (self.where.topic, self.where.partition, self.record.offset)
        return [(name, str(value).encode()) for name, value in zip(_ORIGIN, values, strict=True)]


def _content(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


@dataclass(frozen=True)
class Tail:
    """How much of each partition only the source has."""

    counts: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Over all partitions."""
        return sum(self.counts.values())

    def __str__(self) -> str:
        if not self.records:
            return "the target has everything that the source has"
        names = ", ".join(f"{where} ({count:,})" for where, count in sorted(self.counts.items())[:5])
        more = f" and {len(self.counts) - 5} more" if len(self.counts) > 5 else ""
        return f"{counted(self.records, 'record')} never mirrored: {names}{more}"


def read_tail_records(flow: FlowConfig) -> Iterator[TailRecord]:
    """Every committed record of the source behind what was mirrored; not what a flow back has put there."""
    positions = read_books(flow).positions
    access = access_for(flow.source, "consumer")
    with Admin(access_for(flow.source, "admin")) as admin:
        topics = admin.topics()
    carried = {topic for topic in mirrored_names(flow, topics) if is_carried(flow, topic)}
    partitions = [TopicPartition(name, number) for name in sorted(carried) for number in range(topics[name].partitions)]
    if not partitions:
        return
    with opened(access, carried) as (loop, network):
        firsts = reading.list_many(network, dict.fromkeys(partitions, EARLIEST))
        ends = reading.list_many(network, dict.fromkeys(partitions, LATEST), READ_COMMITTED)
        provenance = Provenance(loop, network)
        for where in partitions:
            rule = provenance.of(left_out(flow, where.topic))
            start = max(firsts[where], positions.get(where, Position(-1)).offset + 1)
            if start >= ends[where]:
                continue
            batches = reading.read_batches(
                loop, network, where.topic, {where.partition: start}, {where.partition: ends[where]}
            )
            for batch in batches:
                if not rule.is_mirrored(batch.header.producer_id):
                    for record in rule.without_returning(records.decode(batch.magic, batch.data)):
                        if start <= record.offset < ends[where]:
                            yield TailRecord(where, record)


def count_tail(flow: FlowConfig, take: Callable[[TailRecord], None] = lambda _: None) -> Tail:
    """Count the tail, handing each record over."""
    counts: Counter[TopicPartition] = Counter()
    for item in read_tail_records(flow):
        take(item)
        counts[item.where] += 1
    return Tail(dict(counts))


class TailFile:
    """Keeps a tail as lines of JSON; appears when it is complete."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __str__(self) -> str:
        return str(self._file)

    def save(self, flow: FlowConfig) -> Tail:
        """Write the file, anew if there is one; none where there is no tail."""
        part = self._file.with_name(self._file.name + ".part")
        try:
            with part.open("w", encoding="utf-8") as out:
                tail = count_tail(flow, lambda item: print(item.line(), file=out))
            if tail.records:
                part.replace(self._file)
            else:
                part.unlink()
        except OSError as error:
            raise StepFailed(f"the tail cannot be saved to {self._file}: {error.strerror}") from error
        return tail


class TailTopic:
    """Keeps a tail as records of a topic on the target, each with headers that tell where it came from."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def __str__(self) -> str:
        return f"topic {self._topic}"

    def save(self, flow: FlowConfig) -> Tail:
        """Write what the topic does not have yet: an earlier run may have been cut off."""
        where = TopicPartition(self._topic, 0)
        with Admin(access_for(flow.target, "admin")) as admin:
            [applied] = create_topics([NewTopic(self._topic, 1, flow.number("replication.factor"))], admin)
        if applied.outcome.status is Status.REFUSED:
            raise StepFailed(f"{flow.target.alias} refused to create {self._topic}: {applied.outcome.reason}")
        known = {_origin(record.headers) for record in reading.read_single(_reader(flow), self._topic)}
        waiting: list[Record] = []
        with Writer(access_for(flow.target, "producer")) as writer:

            def take(item: TailRecord) -> None:
                headers = item.headers()
                if _origin(headers) not in known:
                    waiting.append(item.record._replace(headers=[*item.record.headers, *headers]))
                if len(waiting) >= _RECORDS_A_BATCH:
                    writer.append(where, waiting)
                    waiting.clear()

            tail = count_tail(flow, take)
            if waiting:
                writer.append(where, waiting)
        return tail


def _reader(flow: FlowConfig) -> Access:
    return access_for(flow.target, "consumer")


def _origin(headers: Iterable[tuple[str, bytes | None]]) -> tuple[bytes | None, ...]:
    """Where a saved record came from; what users' headers say under such names does not count: ours come last."""
    known = dict(headers)
    return tuple(known.get(name) for name in _ORIGIN)


class SaveTail(Step):
    """Keeps the tail for review, before anything else happens to the source."""

    name = "tail"
    title = "Save what was never mirrored"

    def __init__(self, flow: FlowConfig, journal: Journal, file: Path | None = None, topic: str | None = None) -> None:
        """`file` or `topic`: where to; without either a file whose name is made from the operation's."""
        self._flow = flow
        self._journal = journal
        self._file = file
        self._topic = topic
        self.tail: Tail | None = None

    def outlook(self) -> Outlook:
        """Counts it."""
        return Outlook(str(count_tail(self._flow)))

    def do(self, tell: Tell) -> str:
        """Save all of it."""
        tell(f"reading what {self._flow.source.alias} has and {self._flow.target.alias} has not")
        keeper = self._keeper()
        self.tail = keeper.save(self._flow)
        return f"{self.tail}; saved to {keeper}" if self.tail.records else str(self.tail)

    def facts(self) -> dict[str, str]:
        """For hooks: how much, and where."""
        return {"tail_records": str(self.tail.records if self.tail else 0), "tail": str(self._keeper())}

    def details(self) -> dict[str, Any]:
        """How much of each partition, and where it is."""
        if self.tail is None:
            return {}
        counts = sorted(self.tail.counts.items())
        rows = [{"topic": where.topic, "partition": where.partition, "records": count} for where, count in counts]
        return {"tail": {"records": self.tail.records, "saved_to": str(self._keeper()), "partitions": rows}}

    def settled(self) -> set[TopicPartition]:
        """Partitions all of whose own records the other side has."""
        tail = self.tail if self.tail is not None else count_tail(self._flow)
        with Admin(access_for(self._flow.source, "admin")) as admin:
            topics = admin.topics()
        every = {TopicPartition(name, number) for name, info in topics.items() for number in range(info.partitions)}
        return every - tail.counts.keys()

    def _keeper(self) -> TailFile | TailTopic:
        if self._topic:
            return TailTopic(self._topic)
        return TailFile(self._file or Path(f"{self._flow.source.alias}-tail-{self._journal.id}.jsonl"))
