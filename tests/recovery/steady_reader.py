"""A consumer that reads on and commits what it has read, in a thread, until it is told to stop."""

from __future__ import annotations

import threading
import time

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.groups import Committed, Groups
from heliograph.kafka.network import opened
from heliograph.model import TopicPartition
from tests.recovery.move_stage import PARTITIONS, access


class SteadyReader:
    """Reads as one group; goes on where the group stands on the cluster it is pointed at."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.values: list[bytes] = []  # in the order of reading, over all clusters
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, cluster: EmbeddedCluster, topic: str) -> None:
        """Read there from now on."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, args=(cluster, topic), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after a commit."""
        assert self._thread is not None
        self._stopping.set()
        self._thread.join()

    def _run(self, cluster: EmbeddedCluster, topic: str) -> None:
        while not self._stopping.is_set():
            self.read_once(cluster, topic)
            time.sleep(0.05)

    def read_once(self, cluster: EmbeddedCluster, topic: str) -> None:
        """Read to the end, and commit."""
        every = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        with Groups(access(cluster)) as groups:
            known = groups.committed([self.group])[self.group]
            starts = {where.partition: known[where].offset if where in known else 0 for where in every}
            ends = dict(starts)
            with opened(access(cluster), [topic]) as (loop, network):
                for partition, record in reading.read_to_end(loop, network, topic, starts):
                    self.values.append(record.value or b"")
                    ends[partition] = record.offset + 1
            groups.commit({self.group: {where: Committed(ends[where.partition]) for where in every}})
