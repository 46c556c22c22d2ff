"""What is on a target, as a stock consumer sees it: one consumer for all tests, for each start of one is dear."""

from __future__ import annotations

import time
from collections.abc import Iterator

import kafka
from kafka import KafkaConsumer

from heliograph.model import TopicPartition

_PATIENCE_SECONDS = 60


class Copies:
    """Reads partitions of one cluster from their beginning, committed records only."""

    def __init__(self, bootstrap_servers: str) -> None:
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
        end = self._consumer.end_offsets([partition])[partition]
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self._consumer.position(partition) < end:
            assert time.monotonic() < deadline, f"{where}: read only to {self._consumer.position(partition)} of {end}"
            for record in self._consumer.poll(timeout_ms=200).get(partition, ()):
                if record.offset < end:
                    yield record.headers

    def close(self) -> None:
        """Let the consumer go."""
        self._consumer.close()
