"""Topics of the target that records are routed to: found, created or extended when the first record goes there."""

from __future__ import annotations

from heliograph.engine.outgoing import Outgoing, TargetPartition
from heliograph.errors import DataError
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import Network
from heliograph.kafka.topics import LEGAL_NAME, NewTopic, Outcome, Status
from heliograph.model import TopicPartition


class TargetTopics:
    """Knows every partition of the target that a lane writes to."""

    def __init__(self, network: Network, outgoing: Outgoing, replication_factor: int) -> None:
        self._network = network
        self._outgoing = outgoing
        self._replication_factor = replication_factor
        self._known: dict[TopicPartition, TargetPartition] = {}

    def partition(self, where: TopicPartition, partitions: int) -> TargetPartition:
        """A partition to write to; a topic that is new gets so many. DataError if it cannot be had."""
        found = self._known.get(where)
        if found is None:
            self._ensure(where, max(partitions, where.partition + 1))
            found = self._known[where] = self._outgoing.partition(where)
        return found

    def _ensure(self, where: TopicPartition, partitions: int) -> None:
        topic = where.topic
        if not LEGAL_NAME.fullmatch(topic) or where.partition < 0:
            raise DataError(f"{topic}-{where.partition} is no legal partition of a topic")
        if self._network.look_up([topic]):
            self._create(topic, partitions)
        elif where.partition >= len(self._network.partitions(topic)):
            self._extend(topic, partitions)

    def _create(self, topic: str, partitions: int) -> None:
        with Admin(self._network.access) as admin:
            copies = min(self._replication_factor, admin.broker_count())
            _check(topic, "created", admin.create_topic(NewTopic(topic, partitions, copies)))
            admin.wait_for_topics({topic: partitions})
        self._network.refresh([topic])

    def _extend(self, topic: str, partitions: int) -> None:
        with Admin(self._network.access) as admin:
            _check(topic, f"extended to {partitions} partitions", admin.add_partitions({topic: partitions})[topic])
            admin.wait_for_topics({topic: partitions})
        self._network.refresh([topic])


def _check(topic: str, what: str, outcome: Outcome) -> None:
    if outcome.status is Status.REFUSED:
        raise DataError(f"the topic {topic} cannot be {what} on the target: {outcome.reason}")
