"""A make-believe mirror of one partition that remembers where every record went: what offset maps are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Position, Run, TopicPartition

SOURCE = TopicPartition("orders", 0)
TARGET = TopicPartition("a.orders", 0)


def entry(
    runs: Sequence[Run] = (),
    last_offset: int | None = None,
    events: Sequence[Event] = (),
    target: TopicPartition = TARGET,
) -> LedgerEntry:
    """A transaction that did this; without a last offset, up to the last run's end."""
    if last_offset is None:
        last_offset = runs[-1].source + runs[-1].length - 1 if runs else -1
    progress = (PartitionProgress(SOURCE, target, tuple(runs), last_offset, 0, 0),) if last_offset >= 0 else ()
    return LedgerEntry("a->b", 0, "owner", 1, 0, progress, tuple(events))


def event(kind: EventKind, from_offset: int, to_offset: int) -> Event:
    """Something that happened to the partition."""
    return Event(kind, SOURCE, from_offset, to_offset, "")


@dataclass
class MirrorModel:
    """Both logs: on the source which offsets hold records, on the target which hold images of which source offset."""

    source: list[bool] = field(default_factory=list)  # whether there is a record, or what mirrors pass over
    target: list[int | None] = field(default_factory=list)  # the source offset; None for markers and aborted data
    images: dict[int, int] = field(default_factory=dict)  # where each record of the present topic went
    position: int = 0
    last_target: int = -1  # as positions tell it: of our last record, if nobody else went on since
    had_other_mirror: bool = False  # copies that it made and we make again are not known to be there twice
    ledger: list[LedgerEntry | None] = field(default_factory=list)  # None: another owner

    # -- what happens --------------------------------------------------------------------------------------

    def produce(self, records: Sequence[bool]) -> None:
        """The source grows."""
        self.source += records

    def mirror(self, count: int, aborted_first: int = 0) -> None:
        """One transaction of ours; a broken attempt may have come before it."""
        end = min(self.position + count, len(self.source))
        if end == self.position:
            return
        self.target += [None] * (aborted_first and aborted_first + 1)
        runs = [Run(source, self._copy(source), 1) for source in range(self.position, end) if self.source[source]]
        if runs:
            self.target.append(None)
            self.last_target = runs[-1].target
        self.ledger.append(entry(_joined(runs), end - 1))
        self.position = end

    def restart(self) -> None:
        """Our mirror is started again."""
        self.ledger.append(None)

    def other_mirror(self, count: int) -> None:
        """MirrorMaker 2 goes on for a while, and then we take over again."""
        end = min(self.position + count, len(self.source))
        for source in range(self.position, end):
            if self.source[source]:
                self._copy(source)
        self.position, self.last_target, self.had_other_mirror = end, -1, True
        self.restart()

    def truncate(self, offset: int) -> None:
        """The source loses its newest records."""
        offset = min(offset, len(self.source))
        del self.source[offset:]
        if offset < self.position:
            self.ledger.append(entry(events=[event(EventKind.TRUNCATION, offset, self.position)]))
            self.images = {source: image for source, image in self.images.items() if source < offset}
            self.position = offset

    def recreate(self) -> None:
        """The source topic is deleted and created again."""
        self.ledger.append(entry(events=[event(EventKind.RECREATED, self.position, -1)]))
        self.source, self.images, self.position = [], {}, 0

    def copy_again(self, offset: int) -> None:
        """Somebody moves the position back, and the mirror copies once more what comes after it."""
        if any(self.source[offset : self.position]) and not self.had_other_mirror:
            self.restart()
            self.images = {source: image for source, image in self.images.items() if source < offset}
            self.position, self.last_target = offset, -1
            self.mirror(len(self.source))

    def _copy(self, source: int) -> int:
        self.images[source] = len(self.target)
        self.target.append(source)
        return self.images[source]

    # -- what is right -------------------------------------------------------------------------------------

    def target_place(self, offset: int) -> int:
        """Where the first record at or after a source offset is on the target, or will be."""
        return min((image for source, image in self.images.items() if source >= offset), default=len(self.target))

    def source_place(self, target_offset: int) -> int:
        """The first record of the source that is at or after a target offset, or will be."""
        found = (source for source, image in self.images.items() if image >= target_offset)
        return min(found, default=self.position)

    @property
    def stored_position(self) -> Position:
        """What the offsets topic says."""
        return Position(self.position - 1, self.last_target)

    def repeats_on_target(self, start: int, end: int) -> bool:
        """Whether somebody who should begin at the end would read something between."""
        return any(source is not None for source in self.target[start:end])

    def repeats_on_source(self, start: int, end: int) -> bool:
        """Whether somebody who should begin at the end would read something between."""
        return any(self.source[start:end])


def _joined(runs: Sequence[Run]) -> list[Run]:
    joined: list[Run] = []
    for run in runs:
        last = joined[-1] if joined else None
        if last and last.source + last.length == run.source and last.target + last.length == run.target:
            joined[-1] = Run(last.source, last.target, last.length + 1)
        else:
            joined.append(run)
    return joined
