"""The ends of partitions, as the headers of their batches tell: who wrote what there, whatever became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from heliograph.kafka import reading
from heliograph.kafka.fetching import READ_UNCOMMITTED
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST
from heliograph.model import TopicPartition


class TailBatch(NamedTuple):
    """A batch of records, which is no marker."""

    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    sequence: int
    size: int  # bytes
    oldest_ms: int
    newest_ms: int


class Tail(NamedTuple):
    """What a partition has from some offset on, and where its log begins and ends."""

    batches: list[TailBatch]
    start: int
    end: int  # as consumers see it


def read_tails(network: Network, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, Tail]:
    """Each from the batch that has an offset on, or that follows it; the topics must have been looked up."""
    starts = reading.list_many(network, dict.fromkeys(wanted, EARLIEST))
    ends = reading.list_many(network, dict.fromkeys(wanted, LATEST))
    tails = {where: Tail([], starts[where], ends[where]) for where in wanted}
    by_topic: dict[str, dict[int, int]] = {}
    for where, offset in wanted.items():
        by_topic.setdefault(where.topic, {})[where.partition] = max(offset, starts[where], 0)
    for topic, spans in by_topic.items():
        limits = {number: ends[TopicPartition(topic, number)] for number in spans}
        for batch in reading.read_log(network.loop, network, topic, spans, limits, isolation=READ_UNCOMMITTED):
            header = batch.header
            if header.is_control:
                continue
            tails[TopicPartition(topic, batch.partition)].batches.append(
                TailBatch(
                    header.base_offset,
                    header.last_offset,
                    header.producer_id,
                    header.producer_epoch,
                    header.base_sequence,
                    header.length,
                    header.first_timestamp,
                    header.max_timestamp,
                )
            )
    return tails
