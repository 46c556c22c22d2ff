"""Questions of a driver to a cluster: where partitions begin and end, and which offsets belong to a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED, READ_UNCOMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition

Offsets = dict[TopicPartition, int]


class ClusterLog:
    """Keeps its connections."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._network: Network | None = None
        self._topics: set[str] = set()

    def earliest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The first offsets that are there."""
        return self._asked(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The ends for whoever reads committed records."""
        return self._asked(dict.fromkeys(partitions, LATEST))

    def ends(self, partitions: Collection[TopicPartition]) -> Offsets:
        """The ends, with what is in open transactions."""
        return self._asked(dict.fromkeys(partitions, LATEST), READ_UNCOMMITTED)

    def at_time(self, ends: Mapping[TopicPartition, int], time_ms: int) -> Offsets:
        """The first offset of this time or later, in each partition; its end where there is none."""
        found = self._asked(dict.fromkeys(ends, max(0, time_ms)))
        return {where: end if found[where] < 0 else min(end, found[where]) for where, end in ends.items()}

    def partitions(self, topics: Collection[str]) -> list[TopicPartition]:
        """All partitions of some topics."""
        network = self._knowing(topics)
        return [TopicPartition(topic, number) for topic in topics for number in network.partitions(topic)]

    def close(self) -> None:
        """Hang up; the next question connects anew."""
        if self._network is not None:
            with suppress(OSError):
                self._network.loop.close()
        self._network = None

    def _asked(self, wanted: Mapping[TopicPartition, int], isolation: int = READ_COMMITTED) -> Offsets:
        if not wanted:
            return {}
        return reading.list_many(self._knowing({where.topic for where in wanted}), wanted, isolation)

    def _knowing(self, topics: Collection[str]) -> Network:
        if self._network is None:
            self._network, self._topics = Network(Loop(), self.access), set()
        if new := set(topics) - self._topics:
            self._network.refresh(new)
            self._topics |= new
        return self._network
