"""Exactly once by transactions: in one of them go data, positions and ledger.

A lane has several transactional ids that write in turns: after a commit an id is busy until the coordinator has told
all partitions. Ending transactions strictly one after the other keeps positions and ledger in order all the same.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from heliograph.engine.closing import Closing
from heliograph.engine.copying import PartitionCopy
from heliograph.engine.lane_books import LaneBooks
from heliograph.engine.links import Links
from heliograph.engine.loss import Loss
from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.engine.settings import LaneSettings
from heliograph.engine.unended import Unended, end_declared
from heliograph.errors import BrokerUnavailable, PartitionsWait
from heliograph.kafka.network import NOT_ENOUGH_REPLICAS, Network, error_name
from heliograph.model import Event, LanePlan, LedgerEntry, Position, TopicPartition


class ByTransactions:
    """One session's transactions; without exactly once, its batches and what is written down after them."""

    outgoing: Outgoing

    def __init__(self, plan: LanePlan, target: Network, settings: LaneSettings, books: LaneBooks, links: Links) -> None:
        self._plan = plan
        self._target = target
        self._settings = settings
        self._books = books
        self._links = links
        self._closing: Closing | None = None
        self._closing_since = math.inf
        self._found = Unended()

    @property
    def is_closing(self) -> bool:
        """Whether a transaction is being committed."""
        return self._closing is not None

    @property
    def producer_id(self) -> int:
        """Of the transaction that is being filled."""
        return self.outgoing.producer.stamp.producer_id

    @property
    def unusable(self) -> Mapping[TopicPartition, str]:
        """Those to whose targets nothing can be written."""
        return self._books.unusable | self._found.unusable

    @property
    def losses(self) -> Mapping[TopicPartition, Loss]:
        """None but what lanes have left that wrote without transactions."""
        return self._found.losses

    @property
    def events(self) -> Sequence[Event]:
        """The same."""
        return self._found.events

    def take(self) -> None:
        """Initialise the ids, and end what is open."""
        self._producers = deque(self._books.take_ids(self._plan.transactional_ids, self._settings))
        most_runs = self._settings.most_runs
        self.outgoing = Outgoing(self._target, self._producers[0], self._target.loop.fail, most_runs, self._links)

    def announce(self) -> None:
        """All ids at once."""
        if not self._settings.is_exactly_once:
            self._books.find_unreachable()
        for producer in self._producers:
            self._books.announce(producer)

    def positions(self) -> dict[TopicPartition, Position]:
        """As they are committed, and as earlier lanes without transactions have left them."""
        self._found = end_declared(self._target, self._plan, self._books, self._settings)
        return self._books.positions()

    def begun(self, copies: Sequence[PartitionCopy]) -> Collection[TopicPartition]:
        """Nothing to prepare: what is not committed is not there."""
        return ()

    def send(self, is_last: bool = False) -> None:
        """Send queued batches, after their partitions have joined the transaction."""
        if new := self.outgoing.unjoined():
            sources = {batch.source for target in new.values() for batch in target.queue}
            self._check_told(new)
            self.outgoing.producer.join(new.keys() | self._books.partitions(sources))
        self.outgoing.pump(is_last)

    def _check_told(self, new: Mapping[TopicPartition, TargetPartition]) -> None:
        """Records can be sent anywhere by transforms: where an end could not be told, another would not be either."""
        if untold := new.keys() & self._books.untold:
            waiting = frozenset(batch.source for where in untold for batch in new[where].queue)
            name = f"{self._target.access.alias} {min(untold)}"
            raise PartitionsWait(name, NOT_ENOUGH_REPLICAS, error_name(NOT_ENOUGH_REPLICAS), waiting)

    def settle(self, is_last: bool) -> None:
        """All data is written before the transaction ends; what is read from now on belongs to the next one."""
        awaited = f"{self._target.access.alias} to take what was sent"
        self._target.loop.run_until(lambda: not self.outgoing.has_in_flight, awaited)

    def is_due(self, is_level: bool) -> bool:
        """As soon as all that was there is written: nobody sees it before."""
        return is_level and self.outgoing.is_idle and bool(self.outgoing.producer.joined)

    def begin(self, entry: LedgerEntry, reached: Mapping[TopicPartition, Position]) -> None:
        """End the transaction, and let the next producer write the next one."""
        self._closing = Closing(self.outgoing, entry, self._books.records_of(entry, reached), self._books.gate)
        self._closing_since = time.monotonic()
        self._producers.rotate(-1)
        self._books.announce(self._producers[0])  # a long series of transactions may have given it a new id
        self.outgoing.turn_to(self._producers[0])

    def advance(self) -> LedgerEntry | None:
        """The entry of the transaction that was being committed, once it is."""
        if self._closing is None or not self._closing.advance():
            return None
        entry = self._closing.entry
        self._closing, self._closing_since = None, math.inf
        return entry

    def check_answers(self, longest: float, doing: str) -> None:
        """The end of a transaction waits for up to three answers, one after the other."""
        now, alias = time.monotonic(), self._target.access.alias
        for since, limit in ((self.outgoing.unanswered_since, longest), (self._closing_since, 3 * longest)):
            if now - since > limit:
                why = f"{alias}: {doing} for {now - since:.0f} s, longer than any answer may take"
                self._target.loop.fail(BrokerUnavailable(why))

    def moved(self, copy: PartitionCopy) -> None:
        """Nothing to do: a position says where it is."""

    def end(self) -> None:
        """Nothing to do: what is committed says so itself."""
