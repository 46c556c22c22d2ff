"""What the reading end of a lane tells the writing end: both run in one Spark task, but in processes of their own.

Rows reach the writer through the user's query, which may leave out any of them. So what was read is told over the
driver's line: what to do before the first row, what was done after the last one.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.engine.control import leave_note, take_note
from heliograph.engine.task import LaneTask
from heliograph.engine.wire import ControlAddress
from heliograph.kafka.records import Record
from heliograph.model import Event, Position, TopicPartition


@dataclass(frozen=True)
class Begun:
    """The task of a lane, and where it begins to read each of its partitions."""

    task: LaneTask
    starts: Mapping[TopicPartition, int]
    positions: Mapping[TopicPartition, Position]
    partitions: Mapping[str, int] = field(default_factory=dict)  # how many each topic has
    losses: Mapping[TopicPartition, int] = field(default_factory=dict)  # by source, from where the target has lost


@dataclass(frozen=True)
class Covered:
    """How far one source partition was read."""

    source: TopicPartition
    start: int
    end: int  # all before it was read, or passed over for good
    records: int
    topic_id: str
    leader_epoch: int
    is_new: bool  # nothing of it was mirrored before
    is_news: bool  # its place is to be written down in any case

    @property
    def has_moved(self) -> bool:
        """Whether there is progress to be written down."""
        return self.end != self.start or self.is_news


@dataclass(frozen=True)
class Coverage:
    """All that the reader of a lane did."""

    parts: Sequence[Covered] = ()
    events: Sequence[Event] = field(default_factory=tuple)
    passed_by: Sequence[tuple[int, Record]] = ()  # what the query has not seen, and whose it is

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written down."""
        return not self.events and not any(part.has_moved for part in self.parts)


class Handover:
    """One attempt of one lane: Spark gives both ends the same number."""

    def __init__(self, address: ControlAddress, flow: str, attempt: int) -> None:
        self._address = address
        self._name = f"{flow} {attempt}"

    def begin(self, begun: Begun) -> None:
        """Told by the reader before its first row."""
        leave_note(self._address, f"{self._name} begun", pickle.dumps(begun))

    def end(self, coverage: Coverage) -> None:
        """Told by the reader after its last row."""
        leave_note(self._address, f"{self._name} covered", pickle.dumps(coverage))

    def begun(self) -> Begun:
        """What the reader said before its first row."""
        begun = pickle.loads(take_note(self._address, f"{self._name} begun"))  # noqa: S301 - ours, over a guarded line
        assert isinstance(begun, Begun)
        return begun

    def covered(self) -> Coverage:
        """What the reader said after its last row."""
        covered = pickle.loads(take_note(self._address, f"{self._name} covered"))  # noqa: S301 - as above
        assert isinstance(covered, Coverage)
        return covered
