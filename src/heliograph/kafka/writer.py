"""Keeps a connection to a cluster for records of our own that are written again and again."""

from __future__ import annotations

from collections.abc import Sequence

from heliograph.errors import ClusterError
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.closeable import Closeable
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition


class Writer(Closeable):
    """Appends records, outside any transaction; connects when it is first needed, and anew after a failure."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._network: Network | None = None
        self._known: set[str] = set()

    def append(self, where: TopicPartition, records: Sequence[Record]) -> int:
        """Append records, acknowledged by all replicas in sync; returns the offset of the first."""
        try:
            network = self._connected(where.topic)
            return writing.append(network.loop, network, where, records)
        except ClusterError:
            self.close()
            raise

    def close(self) -> None:
        """Hang up."""
        if self._network is not None:
            self._network.loop.close()
        self._network = None
        self._known.clear()

    def _connected(self, topic: str) -> Network:
        if self._network is None:
            self._network = Network(Loop(), self._access)
        if topic not in self._known:
            self._network.refresh([topic])
            self._known.add(topic)
        return self._network
