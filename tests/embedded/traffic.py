"""Topics, and records in and out of them, through the stock client."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

from heliograph.embedded.cluster import EmbeddedCluster

_PATIENCE_MS = 30_000


@dataclass(frozen=True)
class Message:
    """What a mirror must not change."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[tuple[str, bytes], ...] = ()


def messages(count: int, first: int = 0) -> list[Message]:
    """Different messages of long ago, some without key, value or headers."""
    return [
        Message(
            None if number % 5 == 1 else f"key-{number}".encode(),
            None if number % 5 == 2 else f"value-{number}".encode(),
            1_700_000_000_000 + number,
            (("trace", str(number).encode()), ("trace", b"")) if number % 3 else (),
        )
        for number in range(first, first + count)
    ]


@contextmanager
def admin_of(cluster: EmbeddedCluster) -> Iterator[KafkaAdminClient]:
    """An admin client of the plain listener."""
    with closing(KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        yield admin


def create_topic(cluster: EmbeddedCluster, name: str, brokers: Sequence[int] = (1,)) -> None:
    """A topic of one partition that these brokers hold; the first leads."""
    with admin_of(cluster) as admin:
        admin.create_topics([NewTopic(name, replica_assignments={0: list(brokers)})])


def send(cluster: EmbeddedCluster, topic: str, batch: Sequence[Message]) -> None:
    """Write messages and wait until the brokers have them."""
    with closing(KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")) as producer:
        for message in batch:
            producer.send(topic, message.value, message.key, list(message.headers), timestamp_ms=message.timestamp)
        producer.flush(30)


def receive(cluster: EmbeddedCluster, topic: str, count: int) -> list[Message]:
    """The first so many messages of a topic, fewer when they do not come."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=cluster.bootstrap_servers,
        auto_offset_reset="earliest",
        group_id=None,
        consumer_timeout_ms=_PATIENCE_MS,
    )
    with closing(consumer):
        return [
            Message(record.key, record.value, record.timestamp, tuple(record.headers))
            for record in itertools.islice(consumer, count)
        ]


def end_of(cluster: EmbeddedCluster, topic: str) -> int:
    """The offset that the next record of a topic will get."""
    partition = TopicPartition(topic, 0)
    with closing(KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers)) as consumer:
        return int(consumer.end_offsets([partition])[partition])
