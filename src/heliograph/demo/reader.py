"""A group that reads orders and commits how far it is: its place on the backup can be seen."""

from __future__ import annotations

from heliograph.demo.orders import TOPICS
from heliograph.demo.worker import Worker
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


class OrderReader(Worker):
    """Reads all orders, a second behind."""

    def __init__(self, access: Access) -> None:
        super().__init__(GROUP)
        self._access = access
        self.orders = 0

    def work(self) -> None:
        """Read on from what was committed, and commit."""
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


def _start(known: dict[TopicPartition, Committed], number: int, first: int) -> int:
    where = TopicPartition(_TOPIC, number)
    return known[where].offset if where in known else first
