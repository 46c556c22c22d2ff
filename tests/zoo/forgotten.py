"""Transactions whose end a partition never hears of, made on brokers that let us write without joining."""

from __future__ import annotations

from collections.abc import Collection

from heliograph.kafka import producing
from heliograph.kafka.leftovers import describe
from heliograph.kafka.producing import Batch
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.zoo import raw
from tests.zoo.odd_records import numbered

TRUSTING = {"transaction.partition.verification.enable": "false"}  # for the brokers


def write(connected: raw.Connected, producer: TransactionalProducer, where: TopicPartition, joins: bool = True) -> int:
    """Three records; the coordinator hears of the partition only if it joins. Returns the offset of the first."""
    joining_version = producer.produce_version
    sequence = producer.sequences.take(where, 3)
    batch = raw.batch_of(numbered(3), stamp=producer.stamp, sequence=sequence)
    producer.produce_version = joining_version if joins else producing.HIGHEST_VERSION
    [answer] = raw.send(*connected, [Batch(*where, batch)], producer)
    assert answer.error_code == 0
    producer.produce_version = joining_version
    producer.joined.add(where)
    return answer.base_offset


def open_partitions(connected: raw.Connected, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    """Those in which a transaction is open."""
    return [state.where for state in describe(connected[1], partitions) if state.is_open]
