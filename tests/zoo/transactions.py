"""Transactional data: committed, aborted, interleaved, and one transaction that never ends."""

from __future__ import annotations

from contextlib import closing
from itertools import cycle

from kafka import KafkaProducer

from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered

OPEN_TIMEOUT_MS = 600_000


def write_transactions(bootstrap_servers: str, where: TopicPartition, count: int = 30, size: int = 20) -> int:
    """Transactions of a stock producer, of which every third ends aborted; returns how many records were committed."""
    producer = KafkaProducer(
        bootstrap_servers=bootstrap_servers, transactional_id=f"zoo-{where}", compression_type="lz4", linger_ms=5
    )
    committed = 0
    with closing(producer):
        producer.init_transactions()
        for number, is_aborted in zip(range(count), cycle([False, True, False]), strict=False):
            producer.begin_transaction()
            key = b"aborted" if is_aborted else b"kept"
            for index in range(size):
                producer.send(where.topic, f"{number}/{index}".encode(), key, None, where.partition)
            producer.flush()
            if is_aborted:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                committed += size
    return committed


class RawTransaction:
    """One transaction of several batches, under full control of the caller."""

    def __init__(self, connected: raw.Connected, name: str, where: TopicPartition) -> None:
        self._loop, self._network = connected
        self._where = where
        self._producer = TransactionalProducer(self._network, name, OPEN_TIMEOUT_MS)

    @property
    def stamp(self) -> ProducerStamp:
        """Who writes."""
        return self._producer.stamp

    def write(self, count: int, first: int) -> int:
        """Append one batch of numbered records; returns its base offset."""
        self._producer.join([self._where])
        sequence = self._producer.sequences.take(self._where, count)
        data = raw.batch_of(numbered(count, first), stamp=self.stamp, sequence=sequence)
        [appended] = raw.send(self._loop, self._network, [Batch(*self._where, data)], self._producer)
        assert appended.error_code == 0, appended
        return appended.base_offset

    def end(self, commit: bool) -> None:
        """Commit or abort."""
        self._producer.end(commit)


def write_interleaved(bootstrap_servers: str, where: TopicPartition) -> None:
    """Three transactions in each other's middle: the first and the third commit, the second aborts and tries again."""
    with raw.network(bootstrap_servers, where.topic) as connected:
        one, two, three = (RawTransaction(connected, f"interleaved-{where}-{i}", where) for i in range(3))
        for round_ in range(4):
            one.write(5, 1000 + round_)
            two.write(3, 2000 + round_)
            three.write(2, 3000 + round_)
        two.end(commit=False)
        one.end(commit=True)
        three.write(1, 3900)
        three.end(commit=True)
        two.write(4, 2900)  # the same producer again, committed this time
        two.end(commit=True)


def leave_open(bootstrap_servers: str, where: TopicPartition, count: int = 5) -> str:
    """Begin a transaction and never end it; returns its transactional id."""
    name = f"open-{where}"
    with raw.network(bootstrap_servers, where.topic) as connected:
        RawTransaction(connected, name, where).write(count, 9000)
    return name


def abort_open(bootstrap_servers: str, name: str) -> None:
    """End an open transaction as a successor would, by taking its id over."""
    with raw.network(bootstrap_servers) as (_, connected):
        TransactionalProducer(connected, name, OPEN_TIMEOUT_MS)
