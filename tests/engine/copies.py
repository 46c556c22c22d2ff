"""What is on a target, as a stock consumer sees it: one consumer for all tests, for each start of one is dear."""

from __future__ import annotations

import time
from collections.abc import Iterator

import kafka
from kafka import KafkaConsumer

from heliograph.kafka import reading
from heliograph.kafka.patience import Patience
from heliograph.model import TopicPartition
from tests.zoo import raw

_PATIENCE_SECONDS = 60
_MARK_SECONDS = 5


class Copies:
    """Reads partitions of one cluster from their beginning, committed records only."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers = bootstrap_servers
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap_servers,
            isolation_level="read_committed",
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=50,
        )

    def headers(self, where: TopicPartition) -> Iterator[list[tuple[str, bytes]]]:
        """The headers of all records of a partition up to the end seen now, in order."""
        partition = kafka.TopicPartition(*where)
        self._consumer.assign([partition])
        self._consumer.seek_to_beginning(partition)
        end = self._committed_end(where)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._consumer.position(partition) < end:
            assert time.monotonic() < deadline, f"{where}: read only to {self._consumer.position(partition)} of {end}"
            for record in self._consumer.poll(timeout_ms=200).get(partition, ()):
                if record.offset < end:
                    yield record.headers

    def _committed_end(self, where: TopicPartition) -> int:
        """Up to where there is nothing but ended transactions.

        Brokers write the mark of a commit a moment after they have agreed to it. A lane that was dropped may have left
        a transaction open, so what is not marked after a while is not waited for.
        """
        partition = kafka.TopicPartition(*where)
        with raw.network(self._servers, where.topic) as (_, network):
            written = reading.list_offsets(network, where.topic, {where.partition: reading.LATEST})[where.partition]
        patience = Patience(_MARK_SECONDS)
        while (end := int(self._consumer.end_offsets([partition])[partition])) < written and patience.wait():
            pass
        return end

    def close(self) -> None:
        """Let the consumer go."""
        self._consumer.close()
