"""For tests of your own transforms and predicates: records made by hand, and what becomes of them.

from heliograph.transforms.testing import Dropped, record, run

def test_secrets_are_taken_out() -> None:
    (kept,) = run(Redact, {"fields": "card"}, record({"card": "4111", "total": 5}))
    assert kept.value == {"total": 5}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heliograph.errors import DataError
from heliograph.transforms.accepted_settings import accepted_settings
from heliograph.transforms.formats.choice import RecordFormats
from heliograph.transforms.formats.json_envelope import write_envelope
from heliograph.transforms.formats.json_text import write_plain
from heliograph.transforms.message import Formats, Header, Message, Side
from heliograph.transforms.record import Record
from heliograph.transforms.stage import Outcome, Predicate, Transform
from heliograph.transforms.struct import Struct

HeaderValues = Mapping[str, str | bytes | None] | Sequence[tuple[str, str | bytes | None]]


@dataclass(frozen=True)
class Dropped:
    """A record that did not go on."""

    source_offset: int


def record(
    value: Any = None,
    key: Any = None,
    topic: str = "topic",
    *,
    partition: int = 0,
    offset: int = 0,
    timestamp: int | None = 0,
    headers: HeaderValues = (),
    source_topic: str | None = None,
    formats: Mapping[str, str] | None = None,
) -> Record:
    """A record. Text and bytes are written as they are, a `Struct` with its schema, everything else as JSON.

    `formats` takes settings such as `value.converter`, for records that are not to be recognised by themselves.
    """
    settings = dict(formats or {})
    items = headers.items() if isinstance(headers, Mapping) else headers
    return Record(
        Message(
            topic,
            partition,
            timestamp,
            _side(key, RecordFormats(settings, is_key=True)),
            _side(value, RecordFormats(settings, is_key=False)),
            [Header(name, text.encode() if isinstance(text, str) else text) for name, text in items],
            source_topic if source_topic is not None else topic,
            offset,
        )
    )


def run(
    transform: type | str, settings: Mapping[str, str] | None = None, /, *records: Record
) -> list[Record | Dropped | DataError]:
    """What a transform makes of each record, all of them at once; ValueError if it refuses its settings.

    A class, or a name as after `transforms.<name>.type`. The records that are given are used up.
    """
    stage = _transform(transform)
    stage.configure(accepted_settings(stage, settings or {}))
    outcomes = stage.apply_many([item.finish() for item in records])
    return [_result(item, outcome) for item, outcome in zip(records, outcomes, strict=True)]


def matches(predicate: type[Predicate] | str, settings: Mapping[str, str] | None, item: Record, /) -> bool:
    """Whether a predicate is true for a record; ValueError if it refuses its settings."""
    from heliograph.transforms.catalogue import make_predicate

    stage = make_predicate(predicate) if isinstance(predicate, str) else predicate()
    stage.configure(accepted_settings(stage, settings or {}))
    return stage.test(item.finish())


def _transform(transform: type | str) -> Transform:
    from heliograph.transforms.catalogue import make_transform
    from heliograph.transforms.python_transform import adapted
    from heliograph.transforms.stage import SidedTransform

    if isinstance(transform, str):
        return make_transform(transform)
    return transform(False) if issubclass(transform, SidedTransform) else adapted(transform)


def _result(item: Record, outcome: Outcome) -> Record | Dropped | DataError:
    if isinstance(outcome, Message):
        return Record(outcome)
    return Dropped(item.source_offset) if outcome is None else outcome


def _side(value: Any, formats: Formats) -> Side:
    if value is None or isinstance(value, bytes):
        return Side(value, formats)
    if isinstance(value, str):
        return Side(value.encode(), formats)
    return Side(write_envelope(value.schema, value) if isinstance(value, Struct) else write_plain(value), formats)
