"""The first place where a partition and its copy differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_FIELDS = ("key", "value", "headers", "timestamp")
_SHOWN_BYTES = 80
_BEFORE = 20  # of a long value, so much is shown before its first differing byte


@dataclass(frozen=True)
class Difference:
    """The record on each side; none where that side has no further one. A reason, if records do not tell it."""

    source: TopicPartition
    target: TopicPartition
    source_record: Record | None
    target_record: Record | None
    reason: str = ""
    compares_times: bool = True

    def __str__(self) -> str:
        if self.reason:
            return self.reason
        if self.source_record is None:
            assert self.target_record is not None
            return f"{self.target} offset {self.target_record.offset}: a record that {self.source} does not have"
        if self.target_record is None:
            return f"{self.source} offset {self.source_record.offset}: missing at the end of {self.target}"
        places = f"{self.source} offset {self.source_record.offset}, {self.target} offset {self.target_record.offset}"
        return f"{places}: {', '.join(self.fields)} not the same"

    @property
    def offset(self) -> int:
        """A number to order differences of one partition by."""
        record = self.source_record or self.target_record
        return record.offset if record else -1

    @property
    def fields(self) -> list[str]:
        """What of the two records is not the same."""
        names = _FIELDS if self.compares_times else _FIELDS[:-1]
        return [name for name in names if _value(self.source_record, name) != _value(self.target_record, name)]

    def versions(self) -> Mapping[str, tuple[str, str]]:
        """Both versions, readable: of what differs, and the key, by which people know a record."""
        if self.source_record is None and self.target_record is None:
            return {}
        both = self.source_record is not None and self.target_record is not None
        names = [name for name in _FIELDS if name == "key" or name in self.fields] if both else _FIELDS
        return {name: self._shown(name) for name in names}

    def _shown(self, name: str) -> tuple[str, str]:
        ours, theirs = _value(self.source_record, name), _value(self.target_record, name)
        start = _first_difference(ours, theirs) if isinstance(ours, bytes) and isinstance(theirs, bytes) else 0
        return _text(self.source_record, name, start), _text(self.target_record, name, start)


def same_content(one: Record, other: Record, compares_times: bool = True) -> bool:
    """Whether two records are copies of each other."""
    if compares_times and one.timestamp != other.timestamp:
        return False
    return one[2:4] == other[2:4] and tuple(one.headers) == tuple(other.headers)


def _value(record: Record | None, name: str) -> object:
    value = None if record is None else getattr(record, name)
    return tuple(value) if name == "headers" and value is not None else value


def _first_difference(one: bytes, other: bytes) -> int:
    shorter = min(len(one), len(other))
    low, high = 0, shorter  # so many bytes are known to be the same; no more than so many can be
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _text(record: Record | None, name: str, start: int) -> str:
    if record is None:
        return "(no record)"
    value = _value(record, name)
    if isinstance(value, bytes):
        return _bytes_text(value, start)
    if name == "headers":
        return ", ".join(f"{key}={_bytes_text(item or b'', 0)}" for key, item in record.headers) or "(none)"
    return "(none)" if value is None else _time_text(record.timestamp)


def _bytes_text(value: bytes, start: int) -> str:
    first = start - _BEFORE if len(value) > _SHOWN_BYTES and start > _BEFORE else 0
    text = value[first : first + _SHOWN_BYTES].decode(errors="backslashreplace")
    safe = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)
    more = len(value) > first + _SHOWN_BYTES
    size = f" ({len(value)} bytes, shown from {first})" if first or more else ""
    return f"{'…' if first else ''}{safe}{'…' if more else ''}{size}"


def _time_text(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError):
        return str(milliseconds)
    return f"{milliseconds} ({moment.replace('+00:00', 'Z')})"
