"""One cluster during one look: what can be read there, and why the rest cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager

from heliograph.errors import BrokerUnavailable, ClusterError
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.network import Network, error_name
from heliograph.model import TopicPartition
from heliograph.monitor.look import Trouble

_UNKNOWN_TOPIC = 3
_SHOWN = 5


class Blocked(Exception):
    """A cluster does not answer, or not as it should."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(str(trouble))
        self.trouble = trouble


@contextmanager
def blaming(alias: str) -> Iterator[None]:
    """Says of every trouble inside which cluster it is with."""
    try:
        yield
    except ClusterError as error:
        raise Blocked(Trouble(alias, str(error))) from error


class Station:
    """Connections to one cluster, and who leads what there. Topics that do not exist have no partitions."""

    def __init__(self, loop: Loop, access: Access, topics: Collection[str]) -> None:
        self.loop = loop
        self.network = Network(loop, access)
        self.alias = access.alias
        failures = self.network.look_up(topics)
        self._refused = {topic: code for topic, code in failures.items() if code != _UNKNOWN_TOPIC}
        self._leaderless = {where for topic in topics for where in self.partitions(topic) if not self._is_led(where)}

    def has(self, topic: str) -> bool:
        """Whether a topic exists and can be described."""
        return bool(self.network.partitions(topic))

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic."""
        return [TopicPartition(topic, number) for number in self.network.partitions(topic)]

    def is_unreadable(self, where: TopicPartition) -> bool:
        """Whether a partition is there, or may be, and cannot be asked about."""
        return where.topic in self._refused or where in self._leaderless

    def offsets(self, partitions: Collection[TopicPartition], point: int) -> dict[TopicPartition, int]:
        """The first offsets or the ends of partitions that can be read, as readers of committed records see them."""
        with blaming(self.alias):
            return reading.list_many(self.network, dict.fromkeys(partitions, point), READ_COMMITTED)

    def troubles(self) -> list[Trouble]:
        """What cannot be read though the cluster answers."""
        found = [
            Trouble(self.alias, f"topic {topic}: {error_name(code)}") for topic, code in sorted(self._refused.items())
        ]
        if self._leaderless:
            found.append(Trouble(self.alias, f"without a leader: {_some(sorted(self._leaderless))}"))
        return found

    def _is_led(self, where: TopicPartition) -> bool:
        try:
            self.network.leader(*where)
        except BrokerUnavailable:
            return False
        return True


@contextmanager
def station_at(access: Access, topics: Collection[str]) -> Iterator[Station]:
    """A station that knows these topics and hangs up at the end."""
    with closing(Loop()) as loop:
        with blaming(access.alias):
            station = Station(loop, access, topics)
        yield station


def _some(partitions: list[TopicPartition]) -> str:
    shown = ", ".join(str(where) for where in partitions[:_SHOWN])
    rest = len(partitions) - _SHOWN
    return f"{shown} and {rest} more" if rest > 0 else shown
