"""The topic `conflict-resolutions` of one cluster, from a time on, and what is added to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

from heliograph.conflicts.decision import TOPIC, Decision, decode_decision
from heliograph.errors import BrokerRefused, DataError
from heliograph.kafka import reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network, error_name, opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record

_UNKNOWN_TOPIC = 3


class Logged(NamedTuple):
    """A decision, and how many bytes it takes."""

    decision: Decision
    size: int


class DecisionLog:
    """Reads decisions that were made at a time or later, and each time it is asked again, the new ones."""

    def __init__(self, access: Access, since_ms: int) -> None:
        self._access = access
        self._since_ms = since_ms
        self._topic_id: UUID | None = None
        self._read_to: dict[int, int] = {}
        self.exists = False  # whether the cluster has the topic, as seen last
        self.unreadable = 0  # records that are no decisions

    def read(self) -> Iterator[Logged]:
        """All that were committed since the last time; what an open transaction hides comes the next time."""
        with opened(self._access) as (loop, network):
            failure = network.look_up([TOPIC]).get(TOPIC, 0)
            self.exists = failure != _UNKNOWN_TOPIC
            if not self.exists:
                return
            if failure:
                raise BrokerRefused(f"{self._access.alias} topic {TOPIC}", failure, error_name(failure))
            self._notice(network.topic_id(TOPIC))
            for record in self._records(loop, network):
                yield from self._decoded(record)

    def _notice(self, topic_id: UUID) -> None:
        """A topic that was made anew is read as if there had been none."""
        if topic_id != self._topic_id:
            self._read_to.clear()
        self._topic_id = topic_id

    def _records(self, loop: Loop, network: Network) -> Iterator[Record]:
        numbers = network.partitions(TOPIC)
        firsts = reading.list_offsets(network, TOPIC, dict.fromkeys(numbers, EARLIEST))
        ends = reading.list_offsets(network, TOPIC, dict.fromkeys(numbers, LATEST), READ_COMMITTED)
        times = reading.list_offsets(network, TOPIC, dict.fromkeys(numbers, self._since_ms))
        starts = {number: self._start(number, firsts[number], times[number], ends[number]) for number in numbers}
        self._read_to = dict(starts)
        for batch in reading.read_batches(loop, network, TOPIC, starts, ends):
            for record in records.decode(batch.magic, batch.data):
                if record.offset >= self._read_to[batch.partition]:
                    self._read_to[batch.partition] = record.offset + 1
                    yield record
        self._read_to = {number: max(end, self._read_to[number]) for number, end in ends.items()}

    def _start(self, number: int, first: int, at_time: int, end: int) -> int:
        """Where to go on; from the beginning if what is known cannot be."""
        known = self._read_to.get(number, -1)
        if first <= known <= end:
            return known
        return end if at_time < 0 else min(at_time, end)

    def _decoded(self, record: Record) -> Iterator[Logged]:
        value = record.value or b""
        try:
            decision = decode_decision(value)
        except DataError:
            self.unreadable += 1
            return
        if decision.decided_at_ms >= self._since_ms:
            yield Logged(decision, len(value))
