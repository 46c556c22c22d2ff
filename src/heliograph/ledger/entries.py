"""What a flow writes down: what each kind of record says, and how it is written.

The ledger holds an entry for each transaction, the journal what happened, the state by its keys how things are now.

Entries of transactions, of which there are many, are binary: a byte for the format's version, one for the kind, then
numbers as short as they can be. All other kinds are rare, and JSON, so that people can read them with a console
consumer. Version 0.1.0 wrote everything as JSON without a version, which is still read. Records of a later version are
refused: who does not know what they say must not write beside them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from typing import Any

from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka.records import Record
from heliograph.ledger.numbers import Packer, Unpacker
from heliograph.model import (
    ChoreState,
    Event,
    EventKind,
    LedgerEntry,
    OperationNote,
    PartitionProgress,
    Run,
    SourceSight,
    TopicPartition,
)

FORMAT = 1
_JSON_BEGINS = ord("{")
_COPIED = ord("c")
_PRODUCERS = ord("p")
_POSITIONS = ord("o")
PAGE_IDS = 1_000  # producer ids of a page
_OPERATION = "operation "  # how the name of an owner begins that only wants the mirror to hold


@dataclass(frozen=True)
class Owner:
    """A mirror has taken over the flow, or an operation has closed it."""

    name: str

    @property
    def is_operation(self) -> bool:
        """Whether the flow was closed by an operation, and not taken over by another mirror."""
        return self.name.startswith(_OPERATION)


@dataclass(frozen=True)
class Deal:
    """The owner has dealt the partitions of the flow to lanes: those of its earlier deals must end."""

    owner: str
    number: int


@dataclass(frozen=True)
class ProducerId:
    """A lane is going to write under a producer id."""

    number: int


@dataclass(frozen=True)
class ProducerPage:
    """Many producer ids that lanes have written under; nothing is unpacked before somebody asks for it."""

    packed: bytes

    def numbers(self) -> Sequence[int]:
        """All of them, the smallest first."""
        unpacker = Unpacker(self.packed)
        return list(accumulate(unpacker.count() for _ in range(unpacker.count())))


@dataclass(frozen=True)
class PositionsPage:
    """What a partition of the offsets topic holds; nothing is unpacked before somebody asks for it."""

    packed: bytes


@dataclass(frozen=True)
class Chores:
    """How the periodic tasks of a flow are getting on."""

    states: tuple[ChoreState, ...]


Told = LedgerEntry | Owner | Deal | ProducerId | ProducerPage | PositionsPage | Chores | SourceSight | OperationNote


def operation_owner(name: str) -> str:
    """The owner in whose name an operation closes a flow."""
    return _OPERATION + name


def decode(value: bytes | None) -> Told | None:
    """What a record of a ledger says; None where it says nothing that we know of. NewerFormat if it is too new."""
    if not value:
        return None
    try:
        return _decoded(value)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # JSON that others have written, or damaged
        raise MalformedRecord(
            f"a record of the ledger is not what it should be: {error!r} in {value[:40]!r}"
        ) from error


def read(topic: str, record: Record) -> Told | None:
    """What a record of a ledger, a journal or a state says; what cannot be read tells where it is."""
    try:
        return decode(record.value)
    except MalformedRecord as error:
        raise type(error)(f"{topic}-0, offset {record.offset}: {error}") from error


def _decoded(value: bytes) -> Told | None:
    if value[0] == _JSON_BEGINS:
        return _from_json(json.loads(value))
    if value[0] > FORMAT:
        raise _too_new(value[0])
    if value[0] < FORMAT or len(value) < _SHORTEST:
        raise MalformedRecord(f"a record of the ledger is not what it should be: {value[:20]!r}")
    if value[1] == _PRODUCERS:
        return ProducerPage(value[2:])
    if value[1] == _POSITIONS:
        return PositionsPage(value[2:])
    return _unpacked_entry(value) if value[1] == _COPIED else None


def producer_id_of(told: Told | None) -> int | None:
    """The producer id that a record names."""
    if isinstance(told, LedgerEntry):
        return told.producer_id
    return told.number if isinstance(told, ProducerId) else None


def _too_new(version: int) -> NewerFormat:
    return NewerFormat(
        f"the ledger has records of format {version}, written by a newer version of Heliograph; this one reads formats "
        f"up to {FORMAT}: use the newer version for this flow"
    )


# -- entries of transactions -------------------------------------------------------------------------------

_SHORTEST = 3
# What a partition's part has beside what all have.
_HAS_TIMES, _HAS_BEGIN, _HAS_DROPPED, _HAS_FAILED = 1, 2, 4, 8
_FULL_NAME, _PREFIXED = 0, 1  # how the name of a target topic is written


def encode_entry(entry: LedgerEntry) -> bytes:
    """The value of a ledger record."""
    packer = Packer()
    packer.data += bytes((FORMAT, _COPIED))
    packer.text(entry.flow)
    packer.number(entry.lane)
    packer.text(entry.owner)
    packer.number(entry.producer_id)
    packer.number(entry.written_at_ms)
    packer.count(len(entry.partitions))
    for progress in entry.partitions:
        _pack_progress(packer, progress, entry.written_at_ms)
    packer.count(len(entry.events))
    for event in entry.events:
        _pack_event(packer, event)
    return bytes(packer.data)


def _unpacked_entry(value: bytes) -> LedgerEntry:
    unpacker = Unpacker(value, 2)
    flow, lane, owner = unpacker.text(), unpacker.number(), unpacker.text()
    producer_id, written_at = unpacker.number(), unpacker.number()
    partitions = tuple(_unpack_progress(unpacker, written_at) for _ in range(unpacker.count()))
    events = tuple(_unpack_event(unpacker, written_at) for _ in range(unpacker.count()))
    return LedgerEntry(flow, lane, owner, producer_id, written_at, partitions, events)


def _pack_progress(packer: Packer, progress: PartitionProgress, written_at: int) -> None:
    source, target = progress.source, progress.target
    packer.text(source.topic)
    packer.count(source.partition)
    if target.topic.endswith(source.topic):
        packer.count(_PREFIXED)
        packer.text(target.topic.removesuffix(source.topic))
    else:
        packer.count(_FULL_NAME)
        packer.text(target.topic)
    packer.number(target.partition - source.partition)
    end = _pack_runs(packer, progress.runs)
    packer.number(progress.last_offset - end)
    packer.number(progress.byte_count)
    _pack_extras(packer, progress, written_at)


def _unpack_progress(unpacker: Unpacker, written_at: int) -> PartitionProgress:
    source = TopicPartition(unpacker.text(), unpacker.count())
    is_prefixed = unpacker.count() == _PREFIXED
    name = unpacker.text()
    target = TopicPartition(name + source.topic if is_prefixed else name, source.partition + unpacker.number())
    runs, end = _unpack_runs(unpacker)
    last, size = unpacker.number() + end, unpacker.number()
    return PartitionProgress(source, target, runs, last, size, *_unpack_extras(unpacker, written_at))


def _pack_runs(packer: Packer, runs: Iterable[Run]) -> int:
    """Each run by how far it lies behind the end of the one before it; returns where the last one ends."""
    runs = tuple(runs)
    packer.count(len(runs))
    source = target = 0
    for run in runs:
        packer.number(run.source - source)
        packer.number(run.target - target)
        packer.number(run.length)
        source, target = run.source + run.length, run.target + run.length
    return source


def _unpack_runs(unpacker: Unpacker) -> tuple[tuple[Run, ...], int]:
    runs: list[Run] = []
    source = target = 0
    for _ in range(unpacker.count()):
        run = Run(source + unpacker.number(), target + unpacker.number(), unpacker.number())
        source, target = run.source + run.length, run.target + run.length
        runs.append(run)
    return tuple(runs), source


def _pack_extras(packer: Packer, progress: PartitionProgress, written_at: int) -> None:
    times = progress.newest_timestamp, progress.oldest_timestamp, progress.mean_timestamp
    has = _HAS_TIMES if times != (-1, -1, -1) else 0
    has |= _HAS_BEGIN if progress.begins_at != -1 else 0
    has |= _HAS_DROPPED if progress.dropped else 0
    has |= _HAS_FAILED if progress.failed else 0
    packer.count(has)
    if has & _HAS_TIMES:
        for time, since in zip(times, (written_at, *times), strict=False):
            packer.number(time - since)
    for flag, number in (
        (_HAS_BEGIN, progress.begins_at),
        (_HAS_DROPPED, progress.dropped),
        (_HAS_FAILED, progress.failed),
    ):
        if has & flag:
            packer.number(number)


def _unpack_extras(unpacker: Unpacker, written_at: int) -> tuple[int, int, int, int, int, int]:
    has = unpacker.count()
    newest = oldest = mean = -1
    if has & _HAS_TIMES:
        newest = written_at + unpacker.number()
        oldest = newest + unpacker.number()
        mean = oldest + unpacker.number()
    begins = unpacker.number() if has & _HAS_BEGIN else -1
    dropped = unpacker.number() if has & _HAS_DROPPED else 0
    return newest, oldest, mean, begins, dropped, unpacker.number() if has & _HAS_FAILED else 0


def _pack_event(packer: Packer, event: Event) -> None:
    packer.text(event.kind.value)
    packer.text(event.source.topic)
    packer.count(event.source.partition)
    packer.number(event.from_offset)
    packer.number(event.to_offset)
    packer.text(event.reason)


def _unpack_event(unpacker: Unpacker, at_ms: int) -> Event:
    kind = EventKind(unpacker.text())
    source = TopicPartition(unpacker.text(), unpacker.count())
    return Event(kind, source, unpacker.number(), unpacker.number(), unpacker.text(), at_ms)


def encode_positions(packed: bytes) -> bytes:
    """The record that summarizes a partition of the offsets topic."""
    return bytes((FORMAT, _POSITIONS)) + packed


# -- everything else ---------------------------------------------------------------------------------------


def encode_owner(flow: str, owner: str, now_ms: int) -> bytes:
    """The record with which a mirror takes over a flow."""
    return _json("owner", flow, now_ms, owner=owner)


def encode_deal(flow: str, owner: str, deal: int, now_ms: int) -> bytes:
    """The record with which the owner of a flow deals its partitions to lanes."""
    return _json("deal", flow, now_ms, owner=owner, deal=deal)


def encode_producer(flow: str, owner: str, producer_id: int, now_ms: int) -> bytes:
    """The record with which a lane announces the producer id that it is going to write under."""
    return _json("producer", flow, now_ms, owner=owner, producerId=producer_id)


def encode_chores(flow: str, owner: str, now_ms: int, states: Iterable[ChoreState]) -> bytes:
    """The record that tells how the periodic tasks of a flow are getting on."""
    return _json("chores", flow, now_ms, owner=owner, chores=[asdict(state) for state in states])


def encode_sight(flow: str, owner: str, sight: SourceSight) -> bytes:
    """The record that tells how far the source of a flow reaches, for the day when it cannot be asked any more."""
    return _json("seen", flow, sight.at_ms, owner=owner, ends=[[*where, end] for where, end in sight.ends.items()])


def encode_note(flow: str, note: OperationNote) -> bytes:
    """The record of something that an operation did."""
    return _json("operation", flow, note.at_ms, **asdict(note))


def _json(kind: str, flow: str, now_ms: int, **fields: object) -> bytes:
    whole = {"kind": kind, "format": FORMAT, "flow": flow, "writtenAt": now_ms} | fields
    return json.dumps(whole, separators=(",", ":")).encode()


def _from_json(fields: Mapping[str, Any]) -> Told | None:
    if fields.get("format", FORMAT) > FORMAT:
        raise _too_new(fields["format"])
    match fields.get("kind"):
        case "owner":
            return Owner(str(fields["owner"]))
        case "deal":
            return Deal(str(fields["owner"]), int(fields["deal"]))
        case "producer":
            return ProducerId(int(fields["producerId"]))
        case "chores":
            return Chores(tuple(ChoreState(**state) for state in fields["chores"]))
        case "seen":
            ends = {TopicPartition(topic, number): end for topic, number, end in fields["ends"]}
            return SourceSight(fields["writtenAt"], ends)
        case "operation":
            return OperationNote(*(fields[name] for name in OperationNote.__dataclass_fields__))
        case "copied":
            return _entry_of_0_1(fields)
    return None


def _entry_of_0_1(fields: Mapping[str, Any]) -> LedgerEntry:
    """An entry as version 0.1.0 wrote it."""
    written_at = fields["writtenAt"]
    return LedgerEntry(
        fields["flow"],
        fields["lane"],
        fields["owner"],
        fields["producerId"],
        written_at,
        tuple(_progress_of_0_1(progress) for progress in fields["partitions"]),
        tuple(_event_of_0_1(event, written_at) for event in fields.get("events", ())),
    )


def _progress_of_0_1(fields: Mapping[str, Any]) -> PartitionProgress:
    return PartitionProgress(
        TopicPartition(fields["topic"], fields["partition"]),
        TopicPartition(fields["target"], fields.get("targetPartition", fields["partition"])),
        tuple(Run(*run) for run in fields["runs"]),
        fields["last"],
        fields["bytes"],
        fields["newest"],
        fields.get("oldest", -1),
        fields.get("mean", -1),
        fields.get("begins", -1),
        fields.get("dropped", 0),
        fields.get("failed", 0),
    )


def _event_of_0_1(fields: Mapping[str, Any], at_ms: int) -> Event:
    source = TopicPartition(fields["topic"], fields["partition"])
    return Event(EventKind(fields["kind"]), source, fields["from"], fields["to"], fields["reason"], at_ms)


def record(flow: str, at_ms: int, value: bytes) -> Record:
    """A record of a flow's ledger or journal."""
    return Record(0, at_ms, flow.encode(), value)


def state_record(kind: str, at_ms: int, value: bytes) -> Record:
    """A record of a flow's state, which takes the place of an earlier one of its kind."""
    return Record(0, at_ms, kind.encode(), value)


def owner_record(flow: str, owner: str, now_ms: int) -> Record:
    """With which a mirror takes over a flow."""
    return state_record("owner", now_ms, encode_owner(flow, owner, now_ms))


def deal_record(flow: str, owner: str, deal: int, now_ms: int) -> Record:
    """With which the owner of a flow deals its partitions to lanes."""
    return state_record("deal", now_ms, encode_deal(flow, owner, deal, now_ms))


def producer_record(flow: str, owner: str, producer_id: int, now_ms: int) -> Record:
    """With which a lane announces the producer id that it is going to write under."""
    return state_record(_producer_kind(producer_id), now_ms, encode_producer(flow, owner, producer_id, now_ms))


def packed_producer_record(producer_id: int, now_ms: int) -> Record:
    """That the record of a producer id may go: a page has the id."""
    return Record(0, now_ms, _producer_kind(producer_id).encode(), None)


def packed_producer_of(key: bytes | None) -> int | None:
    """Of which producer id a record without a value tells that its own may go."""
    kind, _, number = (key or b"").partition(b" ")
    return int(number) if kind == b"producer" else None


def producer_pages(producer_ids: Iterable[int], now_ms: int) -> Iterator[Record]:
    """Pages of producer ids.

    A page is called after what it holds, and never changes. So nobody can put another one in its place, also not a
    mirror that wakes up and does not know that the flow has another owner by now.
    """
    numbers = sorted(producer_ids)
    for start in range(0, len(numbers), PAGE_IDS):
        page = numbers[start : start + PAGE_IDS]
        packer = Packer()
        packer.data += bytes((FORMAT, _PRODUCERS))
        packer.count(len(page))
        for before, number in pairwise([0, *page]):
            packer.count(number - before)
        value = bytes(packer.data)
        yield state_record(f"producers {hashlib.sha256(value).hexdigest()[:32]}", now_ms, value)


def _producer_kind(producer_id: int) -> str:
    return f"producer {producer_id}"


def chores_record(flow: str, owner: str, now_ms: int, states: Iterable[ChoreState]) -> Record:
    """How the periodic tasks of a flow are getting on."""
    return state_record("tasks", now_ms, encode_chores(flow, owner, now_ms, states))


def sight_record(flow: str, owner: str, sight: SourceSight) -> Record:
    """How far the source of a flow reaches."""
    return state_record("source", sight.at_ms, encode_sight(flow, owner, sight))


def standing_record(entry: LedgerEntry) -> Record:
    """Which partitions are set aside, all of them."""
    return state_record("set aside", entry.written_at_ms, encode_entry(entry))
