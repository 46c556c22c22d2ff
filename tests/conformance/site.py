"""A cluster under one alias, as stock clients see it; connections are kept, as to connect takes longer than to ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from typing import Any

import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import TopicSetting
from tests.zoo.topics import create_topic

PARTITIONS = 10
ALL = range(PARTITIONS)
Offsets = Mapping[int, int]
Contents = dict[int, list[tuple[object, ...]]]
_PATIENCE_SECONDS = 30.0
_numbers = count()
_clients: dict[tuple[int, Callable[[str], Any], str], Any] = {}


@dataclass(frozen=True)
class Site:
    """The alias that a mirror knows a cluster by, and where clients connect."""

    alias: str
    servers: str

    # -- topics --------------------------------------------------------------------------------------------

    def create(self, topic: str, settings: Mapping[str, str] | None = None) -> None:
        """A topic of as many partitions as MirrorMaker 2's tests have."""
        create_topic(self.servers, topic, PARTITIONS, settings)

    def topics(self) -> set[str]:
        """All topics."""
        return set(_kept(_admin, self.servers).topics())

    def settings(self, topic: str) -> dict[str, TopicSetting]:
        """All settings of a topic."""
        found: dict[str, TopicSetting] = _kept(_admin, self.servers).topic_settings([topic])[topic]
        return found

    def set(self, topic: str, settings: Mapping[str, str | None]) -> None:
        """Change settings of a topic; None takes one back to its default."""
        _kept(_admin, self.servers).alter_topic_settings({topic: settings})

    # -- records -------------------------------------------------------------------------------------------

    def produce(self, topic: str, amount: int, partitions: Sequence[int] = ALL) -> None:
        """So many records for each of these partitions."""
        with closing(KafkaProducer(bootstrap_servers=self.servers)) as producer:
            for _ in range(amount):
                _send(producer, topic, partitions)
            producer.flush()

    def produce_in_transactions(self, topic: str, amount: int, partitions: Sequence[int] = ALL) -> None:
        """The same, a transaction for every two of them, and now and then one that is aborted."""
        with closing(KafkaProducer(bootstrap_servers=self.servers, transactional_id=f"conform-{topic}")) as producer:
            producer.init_transactions()
            for number in range(0, amount, 2):
                if number % 6 == 0:
                    producer.begin_transaction()
                    _send(producer, topic, partitions)
                    producer.flush()
                    producer.abort_transaction()
                producer.begin_transaction()
                for _ in range(min(2, amount - number)):
                    _send(producer, topic, partitions)
                producer.commit_transaction()

    def read(self, topic: str, start: Offsets | None = None, partitions: Sequence[int] = ALL) -> dict[int, list[Any]]:
        """All committed records, from the beginning or from these offsets, to the end seen now."""
        assignment = [kafka.TopicPartition(topic, number) for number in partitions]
        found: dict[int, list[Any]] = {number: [] for number in partitions}
        consumer = _kept(_reader, self.servers)
        consumer.assign(assignment)
        ends = consumer.end_offsets(assignment)
        firsts = consumer.beginning_offsets(assignment)
        for where in assignment:
            consumer.seek(where, firsts[where] if start is None else start[where.partition])
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while any(consumer.position(where) < ends[where] for where in assignment):
            assert time.monotonic() < deadline, f"{topic} could not be read to {ends}"
            for where, records in consumer.poll(100).items():
                found[where.partition] += records
        return found

    def ends(self, topic: str, partitions: Sequence[int] = ALL) -> dict[int, int]:
        """Up to where a topic can be read: no record costs less than one offset."""
        consumer = _kept(_reader, self.servers)
        found = consumer.end_offsets([kafka.TopicPartition(topic, number) for number in partitions])
        return {where.partition: end for where, end in found.items()}

    def contents(self, topic: str, start: Offsets | None = None) -> Contents:
        """What must be the same on both sides."""
        return {
            number: [(item.key, item.value, tuple(item.headers), item.timestamp) for item in records]
            for number, records in self.read(topic, start).items()
        }

    def own_records(self, topic: str) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a topic of the mirror's own, if it is there."""
        if topic in self.topics():
            yield from ((item.key, item.value) for item in self.read(topic, partitions=[0])[0])

    # -- groups --------------------------------------------------------------------------------------------

    def commit(self, group: str, topic: str, offsets: Offsets) -> None:
        """Commit as a consumer that has read so far, and is gone."""
        with closing(_consumer(self.servers, group)) as consumer:
            consumer.commit(
                {
                    kafka.TopicPartition(topic, number): kafka.OffsetAndMetadata(offset, "", -1)
                    for number, offset in offsets.items()
                }
            )

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """What a group has committed."""
        wanted = [kafka.TopicPartition(topic, number) for number in ALL]
        found = _kept(_stock_admin, self.servers).list_group_offsets({group: wanted})[group]
        return {where.partition: item.offset for where, item in found.items() if item.offset >= 0}


def _consumer(servers: str, group: str | None = None) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=servers,
        group_id=group,
        enable_auto_commit=False,
        isolation_level="read_committed",
        allow_auto_create_topics=False,
        fetch_max_wait_ms=50,
    )


def _kept(make: Callable[[str], Any], servers: str) -> Any:
    """A client that is made once for each thread, as none is made for several."""
    key = (threading.get_ident(), make, servers)
    if key not in _clients:
        _clients[key] = make(servers)
    return _clients[key]


def _reader(servers: str) -> KafkaConsumer:
    return _consumer(servers)


def _stock_admin(servers: str) -> KafkaAdminClient:
    return KafkaAdminClient(bootstrap_servers=servers)


def _admin(servers: str) -> Admin:
    return Admin(Access("site", servers.split(",")))


def close_clients() -> None:
    """Hang up everywhere."""
    while _clients:
        _clients.popitem()[1].close()


def _send(producer: KafkaProducer, topic: str, partitions: Sequence[int]) -> None:
    """One record for each partition, unlike any other."""
    for partition in partitions:
        number = str(next(_numbers)).encode()
        producer.send(topic, b"value " + number, b"key " + number, [("number", number)], partition)
