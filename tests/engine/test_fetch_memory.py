"""The memory of a lane's answers, however many brokers it reads from. The brokers are simulated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from heliograph.engine.incoming import Incoming
from heliograph.engine.source_broker import FetchBuffer, Shares
from heliograph.errors import ClusterError
from heliograph.kafka.fetching import HIGHEST_VERSION, FetchLimits, FetchPoint
from heliograph.kafka.network import Leader

MB = 1024 * 1024
TOTAL = 96 * MB
_NO_TOPICS = bytes(5) + bytes(4) + bytes(2) + bytes(4) + b"\x01\0"  # header, throttling, error, session, topics, tags


class Broker:
    """Gives as many bytes as it is asked for."""

    def __init__(self, round_trip: float) -> None:
        self.round_trip = round_trip
        self.asked: deque[tuple[int, Callable[[int], bytearray], Callable[[memoryview], None]]] = deque()

    def version(self, key: int, highest: int, lowest: int) -> int:
        assert lowest <= HIGHEST_VERSION == highest
        return highest

    def send(
        self,
        key: int,
        version: int,
        flexible: bool,
        body: Sequence[bytes],
        handler: Callable[[memoryview], None],
        memory: Callable[[int], bytearray],
        patience: float,
        on_lost: Callable[[ClusterError], None],
    ) -> None:
        most = int.from_bytes(body[0][8:12], "big")
        self.asked.append((most, memory, handler))

    def answer(self) -> int:
        most, memory, handler = self.asked.popleft()
        data = memory(most)
        data[: len(_NO_TOPICS)] = _NO_TOPICS
        handler(memoryview(data)[:most])
        return most


class Cluster:
    """A network of such brokers, each of which leads one partition."""

    def __init__(self, count: int, round_trip: float = 0.001) -> None:
        self.brokers = [Broker(round_trip) for _ in range(count)]

    def leader(self, topic: str, partition: int) -> Leader:
        return Leader(partition, 1)

    def connection_soon(self, broker_id: int, another: bool) -> Broker:
        return self.brokers[broker_id]


def begun(cluster: Cluster, limits: FetchLimits, **options: int) -> Incoming:
    network: Any = cluster
    incoming = Incoming(network, limits, **options)
    for number in range(len(cluster.brokers)):
        incoming.read(FetchPoint("t", UUID(int=1), number, 0))
    return incoming


def fill(cluster: Cluster, incoming: Incoming) -> None:
    """Let all brokers answer as long as there is memory, while nothing is appended."""
    while True:
        incoming.fetch()
        if not any(broker.asked for broker in cluster.brokers):
            return
        for broker in cluster.brokers:
            if broker.asked:
                broker.answer()
        while incoming.arrivals:
            arrival = incoming.arrivals.popleft()
            arrival.buffer.hold(1)
            arrival.broker.looked_at(arrival)


def buffers(incoming: Incoming) -> list[FetchBuffer]:
    return [buffer for line in incoming._lines() for buffer in line.buffers]


def taken(incoming: Incoming) -> int:
    return sum(buffer.size for buffer in buffers(incoming))


@pytest.mark.parametrize("brokers", [1, 3, 12, 40])
@pytest.mark.parametrize("round_trip", [0.001, 0.1])
def test_the_memory_of_answers_has_an_upper_bound(brokers: int, round_trip: float) -> None:
    cluster = Cluster(brokers, round_trip)
    incoming = begun(cluster, FetchLimits())
    fill(cluster, incoming)
    assert all(not buffer.is_free for buffer in buffers(incoming))
    assert taken(incoming) <= TOTAL
    assert taken(incoming) > min(TOTAL // 2, brokers * 2 * 8 * MB - MB)  # and is made use of


def test_a_few_brokers_send_as_much_as_the_file_says() -> None:
    cluster = Cluster(3)
    begun(cluster, FetchLimits()).fetch()
    assert {broker.asked[0][0] for broker in cluster.brokers} == {8 * MB}


def test_one_far_broker_sends_as_much_as_the_file_says_however_much_that_is() -> None:
    wanted = FetchLimits(max_bytes=200 * MB)
    assert Shares(wanted).among(3 * 2).max_bytes == 200 * MB
    assert Shares(wanted).among(3 * 2 * 10).max_bytes < 21 * MB


def test_every_broker_may_send_something() -> None:
    assert Shares(FetchLimits()).among(10_000).max_bytes == 256 * 1024


def test_what_was_taken_before_there_were_many_is_given_back_when_it_is_appended() -> None:
    cluster = Cluster(40)
    network: Any = cluster
    incoming = Incoming(network, FetchLimits(), total_bytes=TOTAL)
    incoming.read(FetchPoint("t", UUID(int=1), 0, 0))
    fill(cluster, incoming)
    first = buffers(incoming)
    assert sum(buffer.size for buffer in first) == 3 * 8 * MB
    for number in range(1, 40):
        incoming.read(FetchPoint("t", UUID(int=1), number, 0))
    for buffer in first:
        buffer.release()
    fill(cluster, incoming)
    assert taken(incoming) <= TOTAL


def test_the_memory_of_a_batch_that_is_larger_than_all_limits_is_given_back() -> None:
    buffer = FetchBuffer(1000)
    buffer.is_filling = True
    buffer.memory(50_000)
    buffer.hold(1)
    buffer.looked_at()
    assert buffer.size == 50_000
    buffer.release()
    assert buffer.size == 0


def test_when_brokers_are_lost_the_others_get_their_share() -> None:
    cluster = Cluster(40)
    incoming = begun(cluster, FetchLimits())
    for line in list(incoming._lines())[3:]:
        line.is_lost = True
    incoming._leave_lost_brokers()
    incoming._adrift.clear()
    incoming.fetch()
    assert cluster.brokers[0].asked[0][0] == 8 * MB
