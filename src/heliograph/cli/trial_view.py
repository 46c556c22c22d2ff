"""A tried record for people and for machines: before and after, side by side."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from heliograph.cli.output import Data
from heliograph.model import TopicPartition
from heliograph.transforms.formats.json_text import write_plain
from heliograph.transforms.message import Header
from heliograph.transforms.own.plain_text import plain_text
from heliograph.transforms.schema import Instant
from heliograph.transforms.struct import Struct
from heliograph.transforms.trial import Ending, Snapshot, Trial

_CHANGED = "~"
_BEFORE_STYLE, _AFTER_STYLE = "red", "green"
_ENDING_STYLES = {Ending.PASSED: "bold green", Ending.DROPPED: "bold yellow", Ending.FAILED: "bold red"}


class _Line(NamedTuple):
    part: str
    before: str | None
    after: str | None

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


def trial_data(trial: Trial) -> Data:
    """A trial as plain values; bytes that are no text in base64."""
    return {
        "topic": trial.source_topic,
        "partition": trial.source_partition,
        "offset": trial.offset,
        "ending": trial.ending.value,
        "stages": [{"name": step.stage, "class": step.class_name, "what": step.what} for step in trial.steps],
        "before": _snapshot_data(trial.before),
        "after": _snapshot_data(trial.after) if trial.after else None,
        "changed": list(trial.before.changes_to(trial.after)) if trial.after else [],
    }


def trial_view(trial: Trial) -> Iterator[RenderableType]:
    """What became of the record, by which stages, and both versions."""
    yield Text(f"{_place(trial)}: {_ending(trial)}", style=_ENDING_STYLES[trial.ending])
    for step in trial.steps:
        yield Text(f"  {step.stage}{f' ({step.class_name})' if step.class_name else ''}: {step.what}")
    table = Table(box=None, pad_edge=False)
    for column in ("", "part", "before", "after"):
        table.add_column(column, overflow="fold")
    for line in _lines(trial):
        table.add_row(*_cells(line, trial))
    yield table
    yield Text("")


def _place(trial: Trial) -> str:
    return f"{TopicPartition(trial.source_topic, trial.source_partition)} offset {trial.offset}"


def _ending(trial: Trial) -> str:
    if trial.after is None:
        last = trial.steps[-1]
        return f"dropped by {last.stage}" if trial.ending is Ending.DROPPED else f"FAILED in {last.stage}"
    changed = trial.before.changes_to(trial.after)
    where = TopicPartition(trial.after.topic, trial.after.partition)
    is_moved = where != (trial.before.topic, trial.before.partition)
    way = f"routed to {where}" if is_moved else f"passed to {where}"
    return f"{way}, changed {', '.join(changed)}" if changed else f"{way} as it was"


def _lines(trial: Trial) -> Iterator[_Line]:
    before, after = trial.before, trial.after
    for name, old in zip(before._fields, before, strict=True):
        new = None if after is None else getattr(after, name)
        olds, news = _text_lines(name, old), [] if after is None else _text_lines(name, new)
        for number, (one, other) in enumerate(_aligned(olds, news)):
            yield _Line(name if number == 0 else "", one, other)


def _cells(line: _Line, trial: Trial) -> Sequence[Text]:
    is_changed = line.is_changed and trial.after is not None
    return (
        Text(_CHANGED if is_changed else ""),
        Text(line.part),
        Text(line.before or "", style=_BEFORE_STYLE if is_changed else ""),
        Text(line.after or "", style=_AFTER_STYLE if is_changed else ""),
    )


def _aligned(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str | None, str | None]]:
    """Lines that are the same beside each other."""
    for _, first, end, other_first, other_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        yield from zip_longest(before[first:end], after[other_first:other_end])


def _text_lines(name: str, value: Any) -> list[str]:
    if name == "headers":
        return [f"{_name_text(header)}: {_header_text(header)}" for header in value] or ["-"]
    if name == "timestamp":
        return [_time_text(value)]
    if value is None:
        return ["null"]
    plain = _plain(value)
    if isinstance(plain, str):
        return plain.splitlines() or [""]
    return msgspec.json.format(write_plain(plain), indent=2).decode().splitlines()


def _time_text(timestamp: int | None) -> str:
    if timestamp is None or timestamp < 0:
        return "-"
    return f"{timestamp} ({plain_text(Instant(timestamp))})"


def _name_text(header: Header) -> str:
    """Bytes that are no UTF-8 cannot be printed."""
    return header.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _header_text(header: Header) -> str:
    return "null" if header.value is None else _text_or_base64(header.value)


def _snapshot_data(snapshot: Snapshot) -> Data:
    return {
        "topic": snapshot.topic,
        "partition": snapshot.partition,
        "timestamp": snapshot.timestamp,
        "key": _data(snapshot.key),
        "value": _data(snapshot.value),
        "headers": [{"name": _name_text(item), "value": _data(item.value)} for item in snapshot.headers],
    }


def _data(value: Any) -> Data:
    data: Data = json.loads(write_plain(_plain(value)))
    return data


def _plain(value: Any) -> Any:
    """As JSON has it, with every digit."""
    if isinstance(value, Struct):
        return {field.name: _plain(value.get(field.name)) for field in value.schema.fields}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return _text_or_base64(value)
    if isinstance(value, Instant):
        return plain_text(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _text_or_base64(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(data).decode()}"
