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


class Load:
    """Writes to all partitions of a topic in turn, in a thread, until it is stopped."""

    def __init__(self, servers: str, topic: str, partitions: int, per_second: int, name: str = "record") -> None:
        self._access = Access("load", servers.split(","))
        self._topic = topic
        self._name = name
        self._partitions = partitions
        self._pause = 1 / 20
        self._per_round = max(1, per_second // 20)
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
        number = rounds = 0
        while not self._stopping.is_set():
            loop = Loop()
            try:
                network = Network(loop, self._access)
                network.refresh([self._topic])
                while not self._stopping.wait(self._pause):
                    where = TopicPartition(self._topic, rounds % self._partitions)
                    count = self._per_round
                    writing.append(loop, network, where, [self._record(number + i) for i in range(count)])
                    number += count
                    rounds += 1
                    self.acknowledged += count
            except ClusterError:
                self._stopping.wait(0.2)
            finally:
                loop.close()

    def _record(self, number: int) -> Record:
        now = int(time.time() * 1000)
        return Record(0, now, str(number).encode(), f"{self._name} {number} written at {now}".encode(), (("n", b"1"),))
