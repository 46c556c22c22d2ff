"""A decision for people: the records that met, side by side, and which one won."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.decision import Decision, as_text

_MOST_COLUMNS = 4
_FURTHER = 16  # columns of the screen for what stands before the records
_NARROWEST, _WIDEST = 16, 80
_DELETED = "(deleted)"


def decision_view(decision: Decision, width: int) -> Iterator[RenderableType]:
    """What was decided how, and the candidates as columns, cut so that they fit the width."""
    conflict, (winner, value, rule, note) = decision.conflict, decision.resolution
    shown = _shown(conflict.candidates, winner)
    room = min(_WIDEST, max(_NARROWEST, (width - _FURTHER) // len(shown) - 2))
    yield Text(f"{decision.logical_topic}  {cut(as_text(conflict.key)[0], _WIDEST)}", style="bold")
    remarks = [f"decided {moment(decision.decided_at_ms)} by {rule}", f"window {conflict.window_ms:,} ms"]
    remarks += [note] if note else []
    remarks += ["goes on with records of the one before"] if conflict.continues else []
    yield Text(f"  {', '.join(remarks)}")
    nothing = "(deleted, or too long to be told)" if decision.values_omitted else _DELETED
    yield _side_by_side(shown, winner, lambda item: _value(item.value, room, nothing))
    if others := len(conflict.candidates) + decision.omitted - len(shown):
        yield Text(f"  and {others:,} more records")
    if winner is None:
        yield Text(f"  merged into {_value(value, max(_NARROWEST, width - _FURTHER))}", style="green")


def _shown(candidates: Sequence[Candidate], winner: Candidate | None) -> list[Candidate]:
    """The first, but never without the winner."""
    shown = list(candidates[:_MOST_COLUMNS])
    return shown if winner is None or winner in shown else [*shown[:-1], winner]


def _side_by_side(shown: Sequence[Candidate], winner: Candidate | None, value: Callable[[Candidate], str]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(len(shown) + 1):
        table.add_column(no_wrap=True)
    first = shown[0]
    lines = [
        ("  cluster", [f"{item.origin} (won)" if item == winner else item.origin for item in shown]),
        ("  written", [_written(item, first) for item in shown]),
        ("  offset", [f"{item.topic}-{item.partition} {item.offset}" for item in shown]),
        ("  value", [value(item) for item in shown]),
    ]
    for name, cells in lines:
        styles = ["bold green" if item == winner else "" for item in shown]
        table.add_row(Text(name), *(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    return table


def _written(item: Candidate, first: Candidate) -> str:
    apart = item.timestamp_ms - first.timestamp_ms
    return moment(item.timestamp_ms) if item is first else f"{moment(item.timestamp_ms)} ({apart:+,} ms)"


def _value(value: bytes | None, room: int, nothing: str = _DELETED) -> str:
    return nothing if value is None else cut(as_text(value)[0], room)


def cut(text: str, room: int) -> str:
    """One line of at most so many characters, without any that could steer a terminal."""
    plain = "".join(letter if letter.isprintable() else "·" for letter in text[: room + 1])
    return plain if len(plain) <= room else f"{plain[: room - 1]}…"


def moment(milliseconds: int) -> str:
    """A time in UTC, to the millisecond; as a number if no calendar has it."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat("T", "milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
