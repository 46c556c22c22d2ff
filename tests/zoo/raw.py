"""Writes record batches byte for byte: exactly the batches asked for, which no stock producer promises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from heliograph.kafka import batches, fetching, producing, reading, records
from heliograph.kafka.access import Access
from heliograph.kafka.batches import NOBODY, BatchHeader, ProducerStamp
from heliograph.kafka.connection import Buffer, Loop
from heliograph.kafka.fetching import FetchLimits, FetchPoint, FetchResult, FetchSession
from heliograph.kafka.network import Network
from heliograph.kafka.producing import Appended, Batch
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import Producer
from heliograph.model import TopicPartition

Connected = tuple[Loop, Network]


def batch_of(
    wanted: Iterable[Record], compression: int = 0, stamp: ProducerStamp = NOBODY, sequence: int = -1
) -> bytearray:
    """One batch of the given records."""
    return records.encode(wanted, stamp, sequence, compression)


@contextmanager
def network(bootstrap_servers: str, *topics: str) -> Iterator[Connected]:
    """Connections to a cluster that knows who leads the given topics."""
    loop = Loop()
    try:
        connected = Network(loop, Access("test", bootstrap_servers.split(",")))
        if topics:
            connected.refresh(topics)
        yield loop, connected
    finally:
        loop.close()


def append(bootstrap_servers: str, where: TopicPartition, pieces: Iterable[Buffer]) -> list[int]:
    """Append batches one by one; returns the base offset of each."""
    with network(bootstrap_servers, where.topic) as (loop, connected):
        appended = [send(loop, connected, [Batch(*where, data)])[0] for data in pieces]
    for item in appended:
        assert item.error_code == 0, item
    return [item.base_offset for item in appended]


def send(loop: Loop, connected: Network, pieces: Sequence[Batch], producer: Producer | None = None) -> list[Appended]:
    """One produce request to the leader of the first batch's partition, and its answer."""
    connection = connected.connection(connected.leader(pieces[0].topic, pieces[0].partition).broker_id)
    highest, transactional_id = producing.HIGHEST_VERSION, None
    if producer is not None:
        highest, transactional_id = producer.produce_version, producer.transactional_id
    version = connection.version(producing.API_KEY, highest, producing.LOWEST_VERSION)
    answers: list[list[Appended]] = []
    body = producing.encode(pieces, transactional_id, -1, 30_000)
    connection.send(producing.API_KEY, version, True, body, lambda answer: answers.append(producing.decode(answer)[0]))
    loop.run_until(lambda: bool(answers))
    return answers[0]


def fetch_batches(bootstrap_servers: str, where: TopicPartition) -> list[tuple[BatchHeader, bytes]]:
    """All batches of a partition as the broker keeps them, up to the last stable offset, with their headers."""
    with network(bootstrap_servers, where.topic) as (loop, connected):
        end = reading.list_offsets(connected, where.topic, {where.partition: reading.LATEST}, isolation=1)[
            where.partition
        ]
        point = FetchPoint(where.topic, connected.topic_id(where.topic), where.partition, 0)
        fetcher = Fetcher(loop, connected, point)
        found: list[tuple[BatchHeader, bytes]] = []
        while point.offset < end:
            for fetched in fetcher.fetch().partitions:
                assert fetched.error_code == 0, fetched
                for _, batch in batches.split(fetched.records):
                    found.append((batches.read_header(batch), bytes(batch)))
                    point.offset = found[-1][0].last_offset + 1
            fetcher.session.moved(point)
    return found


class Fetcher:
    """A fetch session with the broker that leads a partition, one request at a time."""

    def __init__(self, loop: Loop, connected: Network, *points: FetchPoint, limits: FetchLimits | None = None) -> None:
        self._loop = loop
        self.connection = connected.connection(connected.leader(points[0].topic, points[0].partition).broker_id)
        version = self.connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        self.session = FetchSession(version, limits or FetchLimits(max_wait_ms=50))
        for point in points:
            self.session.add(point)

    def fetch(self) -> FetchResult:
        """Send the session's next request and decode the answer."""
        results: list[FetchResult] = []
        self.connection.send(
            fetching.API_KEY, self.session.version, True, [self.session.encode()],
            lambda body: results.append(self.session.decode(body)),
        )  # fmt: skip
        self._loop.run_until(lambda: bool(results))
        return results[0]
