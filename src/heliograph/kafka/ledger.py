"""Ledger records: one JSON value per transaction, readable with a console consumer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from heliograph.kafka.records import Record
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


def encode_entry(entry: LedgerEntry) -> bytes:
    """The value of a ledger record."""
    return _packed(
        {
            "kind": "copied",
            "flow": entry.flow,
            "lane": entry.lane,
            "owner": entry.owner,
            "producerId": entry.producer_id,
            "writtenAt": entry.written_at_ms,
            "partitions": [_encode_progress(progress) for progress in entry.partitions],
            "events": [_encode_event(event) for event in entry.events],
        }
    )


def decode_entry(value: bytes) -> LedgerEntry | None:
    """A ledger entry; None when the record is of another kind."""
    fields = json.loads(value)
    if fields.get("kind") != "copied":
        return None
    return LedgerEntry(
        fields["flow"],
        fields["lane"],
        fields["owner"],
        fields["producerId"],
        fields["writtenAt"],
        tuple(_decode_progress(progress) for progress in fields["partitions"]),
        tuple(_decode_event(event, fields["writtenAt"]) for event in fields.get("events", ())),
    )


def record(flow: str, at_ms: int, value: bytes) -> Record:
    """A record of a flow's ledger."""
    return Record(0, at_ms, flow.encode(), value)


_OPERATION = "operation "  # how the name of an owner begins that only wants the mirror to hold


def operation_owner(name: str) -> str:
    """The owner in whose name an operation closes a flow."""
    return _OPERATION + name


def is_operation(owner: str) -> bool:
    """Whether a flow was closed by an operation, and not taken over by another mirror."""
    return owner.startswith(_OPERATION)


def encode_owner(flow: str, owner: str, now_ms: int) -> bytes:
    """The record with which a mirror takes over a flow."""
    return _packed({"kind": "owner", "flow": flow, "owner": owner, "writtenAt": now_ms})


def decode_owner(value: bytes) -> str | None:
    """Who took over the flow with this record; None when the record is of another kind."""
    fields = json.loads(value)
    return str(fields["owner"]) if fields.get("kind") == "owner" else None


def encode_deal(flow: str, owner: str, deal: int, now_ms: int) -> bytes:
    """The record with which the owner of a flow deals its partitions to lanes: those of earlier deals must end."""
    return _packed({"kind": "deal", "flow": flow, "owner": owner, "deal": deal, "writtenAt": now_ms})


def decode_deal(value: bytes) -> tuple[str, int] | None:
    """Who dealt a flow's partitions, and the number of the deal; None when the record is of another kind."""
    fields = json.loads(value)
    return (str(fields["owner"]), int(fields["deal"])) if fields.get("kind") == "deal" else None


def encode_producer(flow: str, owner: str, producer_id: int, now_ms: int) -> bytes:
    """The record with which a lane announces the producer id that it is going to write under."""
    fields = {"kind": "producer", "flow": flow, "owner": owner, "producerId": producer_id, "writtenAt": now_ms}
    return _packed(fields)


def decode_producer_id(value: bytes) -> int | None:
    """The producer id that a record names; None when it names none."""
    producer_id = json.loads(value).get("producerId")
    return None if producer_id is None else int(producer_id)


def encode_chores(flow: str, owner: str, now_ms: int, states: Iterable[ChoreState]) -> bytes:
    """The record that tells how the periodic tasks of a flow are getting on."""
    fields = {"kind": "chores", "flow": flow, "owner": owner, "writtenAt": now_ms}
    return _packed(fields | {"chores": [asdict(state) for state in states]})


def decode_chores(value: bytes) -> tuple[ChoreState, ...] | None:
    """How the periodic tasks of a flow are getting on; None when the record is of another kind."""
    fields = json.loads(value)
    return tuple(ChoreState(**state) for state in fields["chores"]) if fields.get("kind") == "chores" else None


def encode_sight(flow: str, owner: str, sight: SourceSight) -> bytes:
    """The record that tells how far the source of a flow reaches, for the day when it cannot be asked any more."""
    fields = {"kind": "seen", "flow": flow, "owner": owner, "writtenAt": sight.at_ms}
    return _packed(fields | {"ends": [[*where, end] for where, end in sight.ends.items()]})


def decode_sight(value: bytes) -> SourceSight | None:
    """How far a source was seen to reach; None when the record is of another kind."""
    fields = json.loads(value)
    if fields.get("kind") != "seen":
        return None
    return SourceSight(
        fields["writtenAt"], {TopicPartition(topic, number): end for topic, number, end in fields["ends"]}
    )


def encode_note(flow: str, note: OperationNote) -> bytes:
    """The record of something that an operation did."""
    return _packed({"kind": "operation", "flow": flow, "writtenAt": note.at_ms} | asdict(note))


def decode_note(value: bytes) -> OperationNote | None:
    """What an operation did; None when the record is of another kind."""
    fields = json.loads(value)
    if fields.get("kind") != "operation":
        return None
    return OperationNote(*(fields[name] for name in OperationNote.__dataclass_fields__))


def _packed(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _encode_progress(progress: PartitionProgress) -> dict[str, Any]:
    return {
        "topic": progress.source.topic,
        "partition": progress.source.partition,
        "target": progress.target.topic,
        **({"targetPartition": progress.target.partition} if progress.is_elsewhere else {}),
        "runs": [list(run) for run in progress.runs],
        "last": progress.last_offset,
        "bytes": progress.byte_count,
        "newest": progress.newest_timestamp,
        "oldest": progress.oldest_timestamp,
        "mean": progress.mean_timestamp,
        **({"begins": progress.begins_at} if progress.begins_at >= 0 else {}),
        **({"dropped": progress.dropped} if progress.dropped else {}),
        **({"failed": progress.failed} if progress.failed else {}),
    }


def _decode_progress(fields: dict[str, Any]) -> PartitionProgress:
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


def _encode_event(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind.value,
        "topic": event.source.topic,
        "partition": event.source.partition,
        "from": event.from_offset,
        "to": event.to_offset,
        "reason": event.reason,
    }


def _decode_event(fields: dict[str, Any], at_ms: int) -> Event:
    source = TopicPartition(fields["topic"], fields["partition"])
    return Event(EventKind(fields["kind"]), source, fields["from"], fields["to"], fields["reason"], at_ms)
