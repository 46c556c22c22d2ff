"""The driver's view of what is written down on the target: who owns the flow, and how far each partition is."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from heliograph.engine.past_writes import other_partitions, producer_ids, reached_on
from heliograph.engine.plain_books import books_partitions, is_books_id, read_notes
from heliograph.errors import Fenced, TakenOver
from heliograph.kafka import fence, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.endings import Endings, can_describe
from heliograph.kafka.fence import Fence
from heliograph.kafka.leftovers import Background, Sweep, check_reached, end_leftovers, open_leftovers
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, opened
from heliograph.kafka.newest_positions import PositionReader
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.transaction import TransactionalProducer, take_all, take_usable
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner
from heliograph.ledger.notes import Notes
from heliograph.ledger.summaries import read_summaries
from heliograph.model import Ending, InternalTopics, Position, TopicPartition

log = logging.getLogger(__name__)

_FENCE_TIMEOUT_MS = 15_000
_LOOK_SECONDS = 1.0  # that a partition may take to get a leader while nothing flows


class Bookkeeping:
    """Positions and ledger of one flow."""

    def __init__(self, flow: str, source_alias: str, target: Access, topics: InternalTopics) -> None:
        self._flow = flow
        self._target = target
        self._topics = topics
        self._state = TopicPartition(topics.state, 0)
        self._positions = PositionReader(source_alias, topics.offsets)
        self._endings = Endings()
        self.state_read_to = 0

    @property
    def positions(self) -> dict[TopicPartition, Position]:
        """How far each partition was when that was last read."""
        return self._positions.known

    @property
    def offsets_read_to(self) -> dict[int, int]:
        """Up to where positions have been read, by partition of their topic."""
        return self._positions.read_to

    def announce_owner(self, owner: str) -> None:
        """Write down that the flow is ours from now on: lanes of a former owner that start later see it and stop."""
        now = int(time.time() * 1000)
        with self._network() as (loop, network):
            if not _was_owned(loop, network, self._state):
                self._take_in_former_ledger(loop, network, owner)
            self._positions.summaries = read_summaries(loop, network, self._state.topic)
            record = entries.owner_record(self._flow, owner, now)
            self.state_read_to = writing.append(loop, network, self._state, [record])

    def _take_in_former_ledger(self, loop: Loop, network: Network, owner: str) -> None:
        """Version 0.1.0 named in the ledger who writes for the flow: it is read once, and all of them are written down.

        Before the first owner, for whoever must know them waits for that.
        """
        topic = self._topics.ledger
        starts = reading.list_offsets(network, topic, {0: EARLIEST})
        told = (entries.read(topic, record) for _, record in reading.read_to_end(loop, network, topic, starts))
        now = int(time.time() * 1000)
        ids = sorted({number for number in map(entries.producer_id_of, told) if number is not None})
        for number in ids:
            writing.append(loop, network, self._state, [entries.producer_record(self._flow, owner, number, now)])

    def announce_deal(self, owner: str, deal: int) -> None:
        """Write down that lanes of earlier deals must end: their partitions are dealt to others.

        Raises if the flow has another owner by now.
        """
        record = entries.deal_record(self._flow, owner, deal, int(time.time() * 1000))
        with self._network() as (loop, network):
            self._follow_state(loop, network, owner)
            writing.append(loop, network, self._state, [record])

    def check_owner(self, owner: str) -> None:
        """Raises if the flow has another owner by now."""
        with self._network() as (loop, network):
            self._follow_state(loop, network, owner)

    def fence(
        self,
        transactional_ids: Collection[str],
        targets: Collection[TopicPartition],
        sources: Mapping[TopicPartition, TopicPartition] | None = None,
        writes_elsewhere: bool = False,
        former: Collection[TopicPartition] = (),
    ) -> dict[TopicPartition, str]:
        """End the open transactions of all these ids everywhere, and lock out whoever still writes under them.

        Those that are decided, and only cannot be told to some targets, are left to their coordinators: whoever used
        their ids last looks at a gate, which is among the ids, before it uses them again.

        `sources` tells of targets whose copies they are, where nothing else is written to them; `former` are targets
        that nothing is written to any more.
        Returns the targets where that could not be done, and why; without the books themselves nothing can go on.
        """
        with self._network() as (loop, network):
            ledger, books = TopicPartition(self._topics.ledger, 0), self._books(network)
            producers = self._take(network, sorted(transactional_ids), books)
            targets = _found(network, targets, former)
            unfenced = self._lock_out_declared(network, producers)
            ids = partial(producer_ids, network, self._state.topic)
            # First the books: a transaction that is open there hides the positions, by which others are judged.
            left = end_leftovers(network, producers, books, Background(ids, told_all=ledger, witnesses=targets))
            check_reached(network, left.unreachable, books)
            written = {*targets, *(other_partitions(network, targets) if writes_elsewhere else ())}
            written -= self._endings.partitions
            reached = partial(self._reached, loop, network, sources or {})
            found = end_leftovers(network, producers, written, Background(ids, reached, ledger, books))
            # Elsewhere others write too: what hides something there need not be ours.
            return {where: why for where, why in {**unfenced, **found.unreachable}.items() if where in targets}

    def _lock_out_declared(
        self, network: Network, producers: Sequence[TransactionalProducer]
    ) -> dict[TopicPartition, str]:
        """Whoever writes without transactions: to have their ids does not stop them, only markers where they write.

        First in the books, so that nobody can declare anything any more; then where somebody has.
        """
        taken = {str(producer.transactional_id): producer for producer in producers}
        keepers = [producer for name, producer in taken.items() if is_books_id(name)]
        books = books_partitions(self._topics, network.partitions(self._topics.offsets))
        fence.check_put_up(network, [Fence(producer, books) for producer in keepers])
        noted = Notes()
        read_notes(network, self._topics.declarations, noted)
        opened = list(noted.all())
        missing = sorted({note.name for note in opened} - taken.keys())
        taken |= {str(made.transactional_id): made for made in take_all(network, missing, _FENCE_TIMEOUT_MS)}
        network.look_up({note.target.topic for note in opened})
        fences = [
            Fence(taken[name], frozenset(note.target for note in opened if note.name == name))
            for name in sorted({note.name for note in opened})
        ]
        unreachable = fence.put_up(network, fences)
        for where, reason in unreachable.items():
            log.warning("%s: earlier lanes are not locked out of %s: %s", self._flow, where, reason)
        return unreachable

    def _take(
        self, network: Network, names: Sequence[str], books: Collection[TopicPartition]
    ) -> list[TransactionalProducer]:
        if not can_describe(network):  # then nobody leaves an id alone
            return take_all(network, names, _FENCE_TIMEOUT_MS)
        return take_usable(network, names, _FENCE_TIMEOUT_MS, self._endings, books)

    def endings(self, transactional_ids: Collection[str]) -> dict[str, Ending]:
        """What these ids have been busy with for long, by the last time that they were fenced."""
        lasting = self._endings.lasting()
        return {name: lasting[name] for name in transactional_ids if name in lasting}

    def find_open(
        self,
        targets: Collection[TopicPartition],
        writes_elsewhere: bool = False,
        former: Collection[TopicPartition] = (),
    ) -> Sweep:
        """Where transactions of the flow are open while no lane runs, and which targets cannot be asked, and why."""
        with self._network() as (_, network):
            targets = _found(network, targets, former)
            written = {*targets, *(other_partitions(network, targets) if writes_elsewhere else ())}
            ids = partial(producer_ids, network, self._state.topic)
            found = open_leftovers(network, written | self._books(network), ids, _LOOK_SECONDS)
            if found.ended:
                self._endings.look_again(network)
            ended = [where for where in found.ended if where not in self._endings.partitions]
            return Sweep(ended, {where: why for where, why in found.unreachable.items() if where in targets})

    def _books(self, network: Network) -> set[TopicPartition]:
        topics = self._topics
        books = {TopicPartition(topics.offsets, number) for number in network.partitions(topics.offsets)}
        single = topics.ledger, topics.journal, topics.declarations
        return books | {TopicPartition(topic, 0) for topic in single}

    def _reached(
        self, loop: Loop, network: Network, sources: Mapping[TopicPartition, TopicPartition]
    ) -> dict[TopicPartition, int]:
        self._positions.follow(loop, network, set(sources.values()))
        return reached_on(sources, self._positions.known)

    def refresh(self, owner: str, sources: Collection[TopicPartition]) -> None:
        """Read what was written since the last time; raises if the flow has another owner by now."""
        with self._network() as (loop, network):
            self._follow_state(loop, network, owner)
            self._positions.follow(loop, network, sources)

    def _follow_state(self, loop: Loop, network: Network, owner: str) -> None:
        end = reading.list_offsets(network, self._topics.state, {0: LATEST})[0]
        for _, record in reading.read_to_end(loop, network, self._topics.state, {0: self.state_read_to}):
            told = entries.read(self._topics.state, record)
            if not isinstance(told, Owner) or told.name == owner:
                continue
            if told.is_operation:
                raise Fenced(f"flow {self._flow} was closed: {told.name}")
            raise TakenOver(f"flow {self._flow} now belongs to {told.name}; this mirror ({owner}) stops")
        self.state_read_to = end

    def _network(self) -> AbstractContextManager[tuple[Loop, Network]]:
        topics = self._topics
        names = topics.offsets, topics.ledger, topics.state, topics.journal, topics.declarations
        return opened(self._target, names)


def _found(
    network: Network, targets: Collection[TopicPartition], former: Collection[TopicPartition]
) -> set[TopicPartition]:
    """All of them but those that nothing is written to any more and whose topic is gone: nobody can wait there."""
    missing = network.look_up({where.topic for where in (*targets, *former)})
    return {*targets, *(where for where in former if missing.get(where.topic) != UNKNOWN_TOPIC)}


def _was_owned(loop: Loop, network: Network, state: TopicPartition) -> bool:
    """Whether any mirror has taken the flow over before, or closed it."""
    starts = reading.list_offsets(network, state.topic, {0: EARLIEST})
    found = reading.read_to_end(loop, network, state.topic, starts)
    return any(isinstance(entries.read(state.topic, record), Owner) for _, record in found)
