"""Producers that go on until they are stopped, whatever they are answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka import KafkaProducer
from kafka.errors import KafkaError

from heliograph.model import TopicPartition


@dataclass
class Writer:
    """A producer at work: how many records were taken, and the names of the errors that others met."""

    where: TopicPartition
    taken: int = 0
    refusals: set[str] = field(default_factory=set)
    is_stopped: threading.Event = field(default_factory=threading.Event)

    def write(self, producer: KafkaProducer, value: bytes, pause: float) -> None:
        """Write one record after the other until stopped."""
        while not self.is_stopped.wait(pause):
            try:
                producer.send(self.where.topic, value, partition=self.where.partition).get(5)
                self.taken += 1
            except KafkaError as error:
                self.refusals.add(type(error).__name__)


@contextmanager
def writing(
    bootstrap_servers: str, where: TopicPartition, value: bytes = b"v" * 100, pause: float = 0.01
) -> Iterator[Writer]:
    """Records keep coming during the block, as far as the cluster takes them."""
    writer = Writer(where)
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers, retries=0, enable_idempotence=False)
    thread = threading.Thread(target=writer.write, args=(producer, value, pause))
    thread.start()
    try:
        yield writer
    finally:
        writer.is_stopped.set()
        thread.join()
        producer.close()
