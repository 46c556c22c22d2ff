"""Records into very many partitions, with few requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.kafka import producing, records
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import LEADER_CHANGES, Network, error_name
from heliograph.kafka.patience import Patience
from heliograph.kafka.producing import Appended, Batch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

REQUESTS_PER_SECOND = 10
_PARTITIONS_PER_REQUEST = 500


class SpreadWriter:
    """Writes to the partitions of a cluster of one broker: a batch for each of them in one request."""

    def __init__(self, cluster: EmbeddedCluster, partitions: Sequence[TopicPartition]) -> None:
        self._partitions = partitions
        self._loop = Loop()
        self._network = Network(self._loop, Access(cluster.alias, [cluster.bootstrap_servers]))
        self._network.refresh({where.topic for where in partitions})
        self._next = 0

    def close(self) -> None:
        """Hang up."""
        self._loop.close()

    def fill(self, records_each: int) -> None:
        """So many records into every partition."""
        for start in range(0, len(self._partitions), _PARTITIONS_PER_REQUEST):
            self._append(self._partitions[start : start + _PARTITIONS_PER_REQUEST], records_each)

    @contextmanager
    def trickling(self, records_per_second: int) -> Iterator[None]:
        """Single records meanwhile, into one partition after the other."""
        is_over = threading.Event()
        thread = threading.Thread(target=self._trickle, args=(records_per_second, is_over))
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def _trickle(self, records_per_second: int, is_over: threading.Event) -> None:
        due = time.monotonic()
        while not is_over.wait(max(0.0, due - time.monotonic())):
            due += 1 / REQUESTS_PER_SECOND
            self._append(self._turn(records_per_second // REQUESTS_PER_SECOND), 1)

    def _turn(self, count: int) -> list[TopicPartition]:
        """The next partitions, each but once: a request takes one batch for each."""
        count = min(count, len(self._partitions))
        chosen = [self._partitions[(self._next + index) % len(self._partitions)] for index in range(count)]
        self._next += count
        return chosen

    def _append(self, partitions: Sequence[TopicPartition], records_each: int) -> None:
        patience = Patience()
        while refused := self._send(partitions, records_each):
            # New topics are known a little earlier than their leaders are ready.
            if not {answer.error_code for answer in refused} <= LEADER_CHANGES or not patience.wait():
                raise BrokerRefused(refused[0].topic, refused[0].error_code, error_name(refused[0].error_code))
            partitions = [TopicPartition(answer.topic, answer.partition) for answer in refused]

    def _send(self, partitions: Sequence[TopicPartition], records_each: int) -> list[Appended]:
        """One request; returns what the broker refused of it."""
        now = int(time.time() * 1000)
        data = records.encode([Record(number, now, b"key", b"v" * 200) for number in range(records_each)])
        connection = self._network.connection(self._network.leader(*partitions[0]).broker_id)
        version = connection.version(producing.API_KEY, producing.HIGHEST_VERSION, producing.LOWEST_VERSION)
        answers: list[Appended] = []
        connection.send(
            producing.API_KEY,
            version,
            True,
            producing.encode([Batch(*where, data) for where in partitions], None, 1, 30_000),
            lambda body: answers.extend(producing.decode(body)[0]),
        )
        self._loop.run_until(lambda: bool(answers))
        return [answer for answer in answers if answer.error_code]
