"""How what a lane writes becomes exactly once: what a session asks of either way to do that.

`by_transactions.py` puts data, positions and ledger into transactions. `by_sequences.py` writes plain batches whose
sequence numbers tell after a crash how far the lane came. A session does not know which of them it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from heliograph.engine.copying import PartitionCopy
from heliograph.engine.loss import Loss
from heliograph.engine.outgoing import Outgoing
from heliograph.model import Assignment, Event, LedgerEntry, Position, TopicPartition


class Commit(Protocol):
    """One session's way to exactly once."""

    outgoing: Outgoing

    @property
    def is_closing(self) -> bool:
        """Whether a commit is under way: there is only one at a time."""

    @property
    def producer_id(self) -> int:
        """Under which data is written."""

    @property
    def unusable(self) -> Mapping[TopicPartition, str]:
        """Source partitions that must not be copied now, and why."""

    @property
    def losses(self) -> Mapping[TopicPartition, Loss]:
        """What the target has lost, as far as that was found beside its ends."""

    @property
    def events(self) -> Sequence[Event]:
        """What is to be told of what earlier lanes have left."""

    def take(self) -> None:
        """Take the ids of the lane: what earlier attempts left open is ended, and they are out."""

    def announce(self) -> None:
        """Write down who is going to write, before anything is written."""

    def positions(self) -> dict[TopicPartition, Position]:
        """How far the partitions of the lane are, now that nobody else writes to them."""

    def begun(self, copies: Sequence[PartitionCopy]) -> Collection[TopicPartition]:
        """Prepare what these partitions need before anything of them leaves.

        Returns those of which a position must be written down first: the next commit has to do that.
        """

    def send(self, is_last: bool = False) -> None:
        """Let leave what may leave now; with the last of a transaction also what are too many runs for one."""

    def settle(self, is_last: bool) -> None:
        """Wait until the next commit may begin, or until the last one may."""

    def is_due(self, is_level: bool) -> bool:
        """Whether there is a reason to commit already; `is_level`: all that was there has been read."""

    def begin(self, entry: LedgerEntry, reached: Mapping[TopicPartition, Position]) -> None:
        """Begin to commit what was done, and how far partitions are by that."""

    def advance(self) -> LedgerEntry | None:
        """Take the next step if it is time; the entry once it is committed."""

    def check_answers(self, longest: float, doing: str) -> None:
        """Give up waiting for answers that were forgotten: requests have deadlines of so many seconds."""

    def moved(self, copy: PartitionCopy) -> None:
        """A partition goes on at another place of its source, or in another topic of the same name.

        Everything before that is committed.
        """

    def end(self) -> None:
        """Everything is committed, and nothing more will be written."""


def targets_of(assignments: Collection[Assignment]) -> set[TopicPartition]:
    """Where these are copied to."""
    return {item.target for item in assignments}
