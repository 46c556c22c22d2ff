"""The first place where a partition and its copy differ."""

from __future__ import annotations

from dataclasses import dataclass

from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_SHOWN_BYTES = 200


@dataclass(frozen=True)
class Difference:
    """The record on each side; none where that side has no further one."""

    source: TopicPartition
    target: TopicPartition
    source_record: Record | None
    target_record: Record | None

    def __str__(self) -> str:
        if self.source_record is None:
            assert self.target_record is not None
            return f"{self.target} offset {self.target_record.offset}: a record that {self.source} does not have"
        if self.target_record is None:
            return f"{self.source} offset {self.source_record.offset}: missing at the end of {self.target}"
        places = f"{self.source} offset {self.source_record.offset}, {self.target} offset {self.target_record.offset}"
        return f"{places}: {', '.join(self.fields)} not the same"

    @property
    def fields(self) -> list[str]:
        """What of the two records is not the same."""
        names = ("key", "value", "headers", "timestamp")
        return [name for name in names if _text(self.source_record, name) != _text(self.target_record, name)]

    def versions(self) -> dict[str, tuple[str, str]]:
        """Both versions of all that differs, readable."""
        return {
            name: (_shown(self.source_record, name), _shown(self.target_record, name))
            for name in (self.fields or ["key", "value", "headers", "timestamp"])
        }


def same_content(one: Record, other: Record) -> bool:
    """Whether two records are copies of each other."""
    return one[1:4] == other[1:4] and tuple(one.headers) == tuple(other.headers)


def _text(record: Record | None, name: str) -> object:
    value = None if record is None else getattr(record, name)
    return tuple(value) if name == "headers" and value is not None else value


def _shown(record: Record | None, name: str) -> str:
    if record is None:
        return "(no record)"
    value = _text(record, name)
    if isinstance(value, bytes):
        text = value[:_SHOWN_BYTES].decode(errors="backslashreplace")
        return text + (f"… ({len(value)} bytes)" if len(value) > _SHOWN_BYTES else "")
    return "(none)" if value is None else str(value)
