"""Who writes for a flow: the producer ids that its lanes have announced.

They stay known for ever, for what they wrote may lie on the target for years. A cluster of newer versions gives a lane
a new id after every 32,767 transactions, which makes 200,000 of them in a year. So a chore packs them in pages
(`control/producer_pages.py`), and each process reads only what is new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping
from uuid import UUID

from heliograph.errors import BrokerUnavailable
from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import UNKNOWN_TOPIC, Network, check
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import Owner, ProducerId, ProducerPage
from heliograph.model import InternalTopics

_NO_PRODUCER = -1
_MOST_OTHERS = 100_000  # that are remembered: some producers take a new id each time
_MOMENT = 1.0


class KnownWriters:
    """All that this process has read in one state about producer ids; threads may follow it side by side."""

    def __init__(self) -> None:
        self.ids: set[int] = set()
        self.was_owned = False
        self.single: set[int] = set()  # whose own records are still there
        self.packed_single: set[int] = set()  # of these, the ones that a page has too
        self.others: set[int] = set()  # ids that were met in a log, and that nobody had announced before
        self._read_to: int | None = None  # from the beginning, if nothing was read yet
        self._lock = threading.Lock()

    def follow(self, loop: Loop, network: Network, topic: str) -> None:
        """Read on. Whoever writes there does so outside of transactions, so there is nothing to wait for.

        Until nothing new came while we read: the record of an id may have been removed before our eyes, because the id
        had come into a page behind the end that we saw.
        """
        while True:
            end = reading.list_offsets(network, topic, {0: LATEST})[0]
            start = self._start(end)
            if start == end:
                return
            if start is None:
                start = reading.list_offsets(network, topic, {0: EARLIEST})[0]
            span = {0: start}, {0: end}
            for batch in reading.read_batches(loop, network, topic, *span, isolation=READ_UNCOMMITTED):
                found = list(records.decode(batch.magic, batch.data))
                with self._lock:
                    for record in found:
                        self._take_in(topic, record)
            with self._lock:
                self._read_to = end  # only now: whoever begins there must find all that lies before it in our sets

    def note_others(self, met: Collection[int]) -> None:
        """Remember who does not write for the flow, among ids that were met before the state was read to its end."""
        with self._lock:
            if len(self.others) > _MOST_OTHERS:
                self.others.clear()
            self.others.update(number for number in met if number not in self.ids)

    def _start(self, end: int) -> int | None:
        with self._lock:
            if self._read_to is not None and self._read_to > end:  # a cluster may have lost the end of a log
                self._read_to = None
            return self._read_to

    def _take_in(self, topic: str, record: Record) -> None:
        told = entries.read(topic, record)
        if isinstance(told, ProducerId):
            if told.number in self.ids and told.number not in self.single:
                self.packed_single.add(told.number)
            self.single.add(told.number)
            self.ids.add(told.number)
        elif isinstance(told, ProducerPage):
            numbers = told.numbers()
            self.packed_single |= self.single.intersection(numbers)
            self.ids.update(numbers)
        elif isinstance(told, Owner):
            self.was_owned = True
        elif record.value is None and (number := entries.packed_producer_of(record.key)) is not None:
            self.single.discard(number)
            self.packed_single.discard(number)


_known: dict[tuple[str, str, UUID], KnownWriters] = {}  # processes outlive lanes, so each reads what is new


def known_writers(network: Network, topic: str) -> KnownWriters:
    """What this process knows of a state, which the network knows."""
    which = (",".join(network.access.bootstrap_servers), topic, network.topic_id(topic))
    return _known.setdefault(which, KnownWriters())


class FlowWriters:
    """Knows the producer ids of one flow, from its state: a compacted topic, so none is ever forgotten."""

    def __init__(self, loop: Loop, network: Network, topics: InternalTopics) -> None:
        self._loop = loop
        self._network = network
        self._topics = topics
        self._known = KnownWriters()  # nothing, until the flow has begun
        self._supposed: set[int] = set()  # ids that are not the flow's, unless the broker did not know of it yet
        self._supposed_until = 0.0

    def wrote(self, producer_id: int) -> bool:
        """Whether a batch of this producer is the flow's."""
        if producer_id not in self._known.ids and not self._is_other(producer_id):
            self.meet([producer_id])
        return producer_id in self._known.ids

    def meet(self, producer_ids: Collection[int]) -> None:
        """Find out which of these producers, whose batches have been read, are the flow's.

        Ids are announced before they are used, so one look settles them all. But a broker may not have heard yet that
        the flow has begun: until it has, every call looks again.
        """
        known = self._known
        met = {number for number in producer_ids if number not in known.ids and number not in known.others}
        met.discard(_NO_PRODUCER)
        if not met:
            return
        if self._follow():
            self._known.note_others(met)
            return
        now = time.monotonic()
        self._supposed = met | (self._supposed if now < self._supposed_until else set())
        self._supposed_until = now + _MOMENT

    def _is_other(self, producer_id: int) -> bool:
        if producer_id == _NO_PRODUCER or producer_id in self._known.others:
            return True
        return producer_id in self._supposed and time.monotonic() < self._supposed_until

    def all(self) -> frozenset[int]:
        """All that are known now."""
        self._follow()
        return frozenset(self._known.ids)

    def _follow(self) -> bool:
        """Read on, if the flow has begun; whether it has."""
        state, ledger = self._topics.state, self._topics.ledger
        failures = self._network.look_up([state, ledger])
        has_begun = self._exists(state, failures)
        if has_begun:
            self._known = known_writers(self._network, state)
            self._known.follow(self._loop, self._network, state)
        if not self._known.was_owned and self._exists(ledger, failures):
            self._refuse_former_ledger()
        return has_begun

    def _exists(self, topic: str, failures: Mapping[str, int]) -> bool:
        """Only a topic that is unknown means that the flow has not begun; it may until the next unknown id is met."""
        failure = failures.get(topic, 0)
        if failure == UNKNOWN_TOPIC:
            return False
        check(f"{self._network.access.alias} topic {topic}", failure)
        return True

    def _refuse_former_ledger(self) -> None:
        """Version 0.1.0 named the ids in the ledger; a take-over writes them down again first of all."""
        topic = self._topics.ledger
        if reading.list_offsets(self._network, topic, {0: LATEST})[0]:
            raise BrokerUnavailable(
                f"{self._network.access.alias}: the ledger {topic} was written by Heliograph 0.1.0, so it is not known "
                f"who writes for its flow; start that flow with this version first"
            )
