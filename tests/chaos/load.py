"""A steady load on the source: numbered records, every one acknowledged before it counts."""

from __future__ import annotations

import threading
import time

from heliograph.errors import ClusterError
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

_ROUNDS_PER_SECOND = 20


class Load:
    """Writes to all partitions of a topic in turn, in a thread, until it is stopped."""

    def __init__(
        self,
        servers: str,
        topic: str,
        partitions: int,
        per_second: int,
        name: str = "record",
        rounds_per_second: int = _ROUNDS_PER_SECOND,
    ) -> None:
        self._access = Access("load", servers.split(","))
        self._topic = topic
        self._name = name
        self._partitions = partitions
        self._pause = 1 / rounds_per_second
        self._per_round = max(1, per_second // rounds_per_second)
        self._rounds = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.acknowledged = 0

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """No more records after this."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        """An unknown outcome on a broken connection may leave a record twice on the source: both copies count there."""
        while not self._stopping.is_set():
            loop = Loop()
            try:
                network = Network(loop, self._access)
                network.refresh([self._topic])
                self._write_steadily(loop, network)
            except ClusterError:
                self._stopping.wait(0.2)
            finally:
                loop.close()

    def _write_steadily(self, loop: Loop, network: Network) -> None:
        """Rounds follow the clock, however long each takes; what an outage has cost is not made up for."""
        due = time.monotonic()
        while not self._stopping.wait(max(0.0, due - time.monotonic())):
            due += self._pause
            where = TopicPartition(self._topic, self._rounds % self._partitions)
            numbers = range(self.acknowledged, self.acknowledged + self._per_round)
            writing.append(loop, network, where, [self._record(number) for number in numbers])
            self._rounds += 1
            self.acknowledged += self._per_round

    def _record(self, number: int) -> Record:
        now = int(time.time() * 1000)
        value = f"{self._name} {number} written at {now}".encode()
        return Record(0, now, str(number).encode(), value, (("from", self._name.encode()),))
