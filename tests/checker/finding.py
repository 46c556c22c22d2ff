"""One difference between a source partition and its copy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from heliograph.model import TopicPartition


class Kind(Enum):
    """What is wrong with a record on the target."""

    LOST = "lost"
    DUPLICATE = "duplicate"
    REORDERED = "reordered"
    ALTERED = "altered"
    UNEXPECTED = "unexpected"


@dataclass(frozen=True)
class Finding:
    """One difference, and how far both sides had been read when it showed; None where a side had ended."""

    kind: Kind
    source: TopicPartition
    source_offset: int | None
    target_offset: int | None
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        fields = f" {', '.join(self.fields)}" if self.fields else ""
        offsets = f"source {_shown(self.source_offset)}, target {_shown(self.target_offset)}"
        return f"{self.source}: {self.kind.value}{fields} at {offsets}"


def _shown(offset: int | None) -> str:
    return "end" if offset is None else f"offset {offset}"
