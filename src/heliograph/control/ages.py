"""How long records have been waiting to be mirrored."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from heliograph.errors import BrokerUnavailable, MalformedRecord
from heliograph.kafka import batches, fetching, reading
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchSession
from heliograph.kafka.network import Network
from heliograph.model import TopicPartition


def first_ages(
    loop: Loop,
    network: Network,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    now_ms: int,
) -> dict[TopicPartition, float]:
    """For each partition that is behind, how old its first record is that is not mirrored yet, in seconds."""
    ages: dict[TopicPartition, float] = {}
    by_leader: dict[int, list[TopicPartition]] = {}
    for where, offset in starts.items():
        if offset < ends[where]:
            by_leader.setdefault(network.leader(*where).broker_id, []).append(where)
    for broker_id, members in by_leader.items():
        with suppress(BrokerUnavailable, MalformedRecord):  # whoever asks counts the time itself then
            for where in members:
                if (age := _first_age(loop, network, broker_id, where, starts[where], now_ms)) is not None:
                    ages[where] = age
    return ages


def _first_age(
    loop: Loop, network: Network, broker_id: int, where: TopicPartition, offset: int, now_ms: int
) -> float | None:
    connection = network.connection(broker_id)
    version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
    limits = FetchLimits(max_wait_ms=100, max_bytes=1 << 20, partition_max_bytes=1024)
    session = FetchSession(version, limits, is_remembered=False)
    session.add(FetchPoint(where.topic, network.topic_id(where.topic), where.partition, offset))
    for fetched in reading.fetch_once(loop, connection, session).partitions:
        for magic, batch in batches.split(fetched.records):
            if magic >= 2:
                return max(0.0, (now_ms - batches.read_header(batch).max_timestamp) / 1000)
            break
    return None
