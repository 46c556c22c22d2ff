"""What the topic `conflict-resolutions` tells about a conflict, as JSON.

    {"winner": "us-east.orders", "timestamp": 1700000000000, "value": "…",   of the winner; winner is null if merged
     "cluster": "us-east", "topic": "orders", "key": "order-7", "rule": "last-writer-wins", "window": 5000,
     "decided_at": 1700000010000,
     "candidates": [{"cluster": …, "topic": …, "original_topic": …, "partition": 0, "offset": 12, "timestamp": …,
                     "value": …, "won": true}, …],
     "note": "concurrent", "continues": true, "omitted": 3, "values_omitted": 2}   left out if there is nothing to say

`omitted` counts candidates, and `values_omitted` values of candidates, that would have made the record too large.

What is not UTF-8 is written in base64, and a member `key_encoding` or `value_encoding` beside it says so.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass

import msgspec

from heliograph.conflicts.brevity import Brief
from heliograph.conflicts.candidate import Candidate, Identity
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.errors import DataError

TOPIC = "conflict-resolutions"
_BASE64 = "base64"

Essence = tuple[bytes, tuple[Identity, ...], Identity | None, bytes | None, str, str, int, bool]


@dataclass(frozen=True)
class Decision:
    """A conflict, how it was settled, and when."""

    conflict: Conflict
    resolution: Resolution
    decided_at_ms: int
    topic: str = ""  # the logical one, such as orders
    omitted: int = 0  # candidates that are not told
    values_omitted: int = 0  # of the candidates that are

    @classmethod
    def made(cls, conflict: Conflict, resolution: Resolution, decided_at_ms: int, topic: str = "") -> Decision:
        """A decision as it is told: without the headers of the records, and in brief where there are many."""
        brief = Brief.of(conflict, resolution)
        return cls(brief.conflict, brief.resolution, decided_at_ms, topic, brief.omitted, brief.values_omitted)

    @property
    def timestamp_ms(self) -> int:
        """When the winner was written, or the last record that was merged."""
        return (self.resolution.winner or self.conflict.last).timestamp_ms

    @property
    def logical_topic(self) -> str:
        """The topic that it is about, wherever it was decided."""
        return self.topic or self.conflict.last.original_topic

    @property
    def essence(self) -> Essence:
        """All but the places where records were read and the time of deciding: the same on every cluster."""
        conflict, (winner, value, rule, note) = self.conflict, self.resolution
        identities = tuple(candidate.identity for candidate in conflict.candidates)
        winner_identity = None if winner is None else winner.identity
        return conflict.key, identities, winner_identity, value, rule, note, conflict.window_ms, conflict.continues


class _CandidateMembers(msgspec.Struct, omit_defaults=True):
    cluster: str
    topic: str
    original_topic: str
    partition: int
    offset: int
    timestamp: int
    value: str | None
    value_encoding: str = ""
    won: bool = False


class _Members(msgspec.Struct, omit_defaults=True, kw_only=True):
    winner: str | None
    timestamp: int
    value: str | None
    cluster: str | None
    topic: str = ""
    key: str
    rule: str
    window: int
    decided_at: int
    candidates: list[_CandidateMembers]
    value_encoding: str = ""
    key_encoding: str = ""
    note: str = ""
    continues: bool = False
    omitted: int = 0
    values_omitted: int = 0


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Members)


def encode_decision(decision: Decision) -> bytes:
    """The JSON text of a decision."""
    conflict, (winner, value, rule, note) = decision.conflict, decision.resolution
    key_text, key_encoding = as_text(conflict.key)
    value_text, value_encoding = (None, "") if value is None else as_text(value)
    members = _Members(
        winner=None if winner is None else winner.topic,
        timestamp=decision.timestamp_ms,
        value=value_text,
        cluster=None if winner is None else winner.origin,
        topic=decision.topic,
        key=key_text,
        rule=rule,
        window=conflict.window_ms,
        decided_at=decision.decided_at_ms,
        candidates=[_candidate_members(candidate, candidate == winner) for candidate in conflict.candidates],
        value_encoding=value_encoding,
        key_encoding=key_encoding,
        note=note,
        continues=conflict.continues,
        omitted=decision.omitted,
        values_omitted=decision.values_omitted,
    )
    return _encoder.encode(members)


def decode_decision(data: bytes) -> Decision:
    """The decision of a JSON text; DataError if it is none."""
    try:
        members = _decoder.decode(data)
        key = _bytes(members.key, members.key_encoding)
        candidates = tuple(_candidate(item, key) for item in members.candidates)
        value = None if members.value is None else _bytes(members.value, members.value_encoding)
    except (msgspec.DecodeError, ValueError) as error:
        raise DataError(f"not a decision: {error}") from None
    if not candidates:
        raise DataError("not a decision: it has no candidates")
    conflict = Conflict(candidates, members.window, members.continues)
    winner = next((found for found, item in zip(candidates, members.candidates, strict=True) if item.won), None)
    resolution = Resolution(winner, value, members.rule, members.note)
    left_out = members.omitted, members.values_omitted
    return Decision(conflict, resolution, members.decided_at, members.topic, *left_out)


def _candidate_members(candidate: Candidate, won: bool) -> _CandidateMembers:
    value, encoding = (None, "") if candidate.value is None else as_text(candidate.value)
    return _CandidateMembers(
        candidate.origin,
        candidate.topic,
        candidate.original_topic,
        candidate.partition,
        candidate.offset,
        candidate.timestamp_ms,
        value,
        encoding,
        won,
    )


def _candidate(item: _CandidateMembers, key: bytes) -> Candidate:
    value = None if item.value is None else _bytes(item.value, item.value_encoding)
    place = item.topic, item.partition, item.offset
    return Candidate(item.cluster, item.original_topic, *place, item.timestamp, key, value)


def as_text(data: bytes) -> tuple[str, str]:
    """Bytes as they are told, and the encoding that was needed for that."""
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return b64encode(data).decode(), _BASE64


def _bytes(text: str, encoding: str) -> bytes:
    if encoding not in ("", _BASE64):
        raise ValueError(f"the encoding {encoding} is not known")
    return b64decode(text, validate=True) if encoding else text.encode()
