"""The new records of a small topic, from round to round."""

from __future__ import annotations

from collections.abc import Iterator

from heliograph.kafka import reading, records
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.kafka.records import Record


class TopicTail:
    """Follows a topic; the first time it begins so many offsets before the end of each partition."""

    def __init__(self, topic: str, first_span: int) -> None:
        self.topic = topic
        self._first_span = first_span
        self._read_to: dict[int, int] = {}

    def read(self, loop: Loop, network: Network) -> Iterator[Record]:
        """All committed records since the last time; the network must know the topic."""
        numbers = network.partitions(self.topic)
        firsts = reading.list_offsets(network, self.topic, dict.fromkeys(numbers, EARLIEST))
        ends = reading.list_offsets(network, self.topic, dict.fromkeys(numbers, LATEST), READ_COMMITTED)
        starts = {number: self._start(number, firsts[number], ends[number]) for number in numbers}
        for batch in reading.read_batches(loop, network, self.topic, starts, ends):
            for record in records.decode(batch.magic, batch.data):
                if record.offset >= starts[batch.partition]:
                    yield record
        self._read_to = ends

    def _start(self, number: int, first: int, end: int) -> int:
        known = self._read_to.get(number)
        is_usable = known is not None and first <= known <= end
        return known if known is not None and is_usable else max(first, end - self._first_span)
