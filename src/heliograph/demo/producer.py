"""A producer that keeps selling until it is stopped."""

from __future__ import annotations

import zlib

from heliograph.demo.orders import TOPICS, Shop
from heliograph.demo.worker import Worker
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network, opened
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_ROUNDS_PER_SECOND = 20


class OrderProducer(Worker):
    """Writes orders to a cluster at a steady rate; what is written when it stops is safe on the source."""

    def __init__(self, access: Access, orders_per_second: int) -> None:
        super().__init__("orders")
        self._access = access
        self._per_round = max(1, orders_per_second // _ROUNDS_PER_SECOND)
        self.written: dict[str, int] = dict.fromkeys(TOPICS, 0)

    def work(self) -> None:
        """Sell."""
        shop = Shop()
        with opened(self._access, TOPICS) as (loop, network):
            while not self._stopping.wait(1 / _ROUNDS_PER_SECOND):
                self._write(loop, network, shop)

    def _write(self, loop: Loop, network: Network, shop: Shop) -> None:
        by_partition: dict[TopicPartition, list[Record]] = {}
        for topic, record in shop.sell(self._per_round):
            partition = zlib.crc32(record.key or b"") % TOPICS[topic]
            by_partition.setdefault(TopicPartition(topic, partition), []).append(record)
        for where, records in by_partition.items():
            writing.append(loop, network, where, records)
            self.written[where.topic] += len(records)
