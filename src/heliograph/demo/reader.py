"""A group that reads orders and commits how far it is: its place on the backup can be seen."""

from __future__ import annotations

import threading

from heliograph.demo.orders import TOPICS
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

GROUP = "warehouse"
_TOPIC = "orders"
_PAUSE_SECONDS = 1.0


class OrderReader:
    """Reads all orders, a second behind, in a thread of its own."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._read_on, name=GROUP, daemon=True)
        self.orders = 0
        self.failure: Exception | None = None

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no further."""
        self._stopping.set()
        self._thread.join()

    def _read_on(self) -> None:
        try:
            with opened(self._access, [_TOPIC]) as (loop, network), Groups(self._access) as groups:
                first = reading.list_offsets(network, _TOPIC, dict.fromkeys(range(TOPICS[_TOPIC]), EARLIEST))
                known = groups.committed([GROUP]).get(GROUP, {})
                starts = {number: _start(known, number, offset) for number, offset in first.items()}
                while not self._stopping.wait(_PAUSE_SECONDS):
                    ends = reading.list_offsets(network, _TOPIC, dict.fromkeys(starts, LATEST), READ_COMMITTED)
                    for batch in reading.read_batches(loop, network, _TOPIC, starts, ends):
                        self.orders += batch.header.record_count
                    starts = ends
                    places = {TopicPartition(_TOPIC, number): Committed(end, "") for number, end in ends.items()}
                    groups.commit({GROUP: places})
        except Exception as error:  # a thread has nobody to raise to: the demo shows the failure
            self.failure = error


def _start(known: dict[TopicPartition, Committed], number: int, first: int) -> int:
    where = TopicPartition(_TOPIC, number)
    return known[where].offset if where in known else first
