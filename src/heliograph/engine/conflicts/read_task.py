"""What one Spark task of detection reads, with everything it needs: it travels pickled and is never printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.engine.parcel import Parcel
from heliograph.engine.tables.ranges import OffsetRange
from heliograph.kafka.access import Access
from heliograph.model import InternalTopics
from heliograph.transforms.message import Header


@dataclass(frozen=True)
class TopicOrigin:
    """Whose records a topic holds."""

    logical_topic: str
    origin: str  # where they were written, unless a mirror brought them here under the same name
    bringers: Mapping[str, InternalTopics] = field(default_factory=dict)  # such mirrors, by where they bring from
    header: str = ""  # which names the origin of records that other tools have brought

    def told_origin(self, headers: Sequence[Header]) -> str | None:
        """The origin that a header of a record names."""
        if not self.header:
            return None
        found = [header.value for header in headers if header.name == self.header and header.value]
        return found[-1].decode(errors="replace") if found else None


@dataclass(frozen=True)
class ReadTask(Parcel):
    """Some ranges of offsets, and what must be told to buckets."""

    access: Access
    ranges: Sequence[OffsetRange]
    origins: Mapping[str, TopicOrigin]
    ticks: Sequence[tuple[int, bytes]] = ()
    views: Mapping[str, str] = field(default_factory=dict)  # topics to read the views from, and whose they are
    view_ranges: Sequence[OffsetRange] = ()
    epoch: int = 0
