"""Latency at a steady rate: records that carry their own birth time, read on the target."""

from __future__ import annotations

import statistics
import time

from bench.measure import Latency, LatencyConsumer, TargetView
from bench.rivals import Rival
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition

PARTITIONS = 4
_WARM_UP_SECONDS = 8
_KEY = b"key"


def latency(
    rival: Rival, source: EmbeddedCluster, target: EmbeddedCluster, topic: str, rates: tuple[int, ...], seconds: float
) -> dict[int, Latency]:
    """For each rate the latency while nothing else happens; the first seconds are for the rival to warm up."""
    remote = f"primary.{topic}"
    loop = Loop()
    network = Network(loop, Access(source.alias, [source.bootstrap_servers]))
    network.refresh([topic])
    results = {}
    with rival:
        view = TargetView(target, remote)
        write(loop, network, topic, 50, 1)
        await_flow(view, loop, network, topic)
        write(loop, network, topic, max(rates), _WARM_UP_SECONDS)
        for rate in rates:
            results[rate] = measured(loop, network, target, topic, rate, seconds)
        view.close()
    loop.close()
    return results


def measured(loop: Loop, network: Network, target: EmbeddedCluster, topic: str, rate: int, seconds: float) -> Latency:
    """The latency of a mirror that runs, at one rate."""
    consumer = LatencyConsumer(target, f"primary.{topic}", PARTITIONS)
    consumer.start()
    time.sleep(1)
    write(loop, network, topic, rate, seconds)
    time.sleep(2)
    ages = sorted(consumer.stop())
    return Latency(statistics.median(ages), ages[int(len(ages) * 0.99)], len(ages))


def await_flow(view: TargetView, loop: Loop, network: Network, topic: str) -> None:
    """Wait until a mirror has copied something."""
    deadline = time.monotonic() + 120
    while not view.committed():
        write(loop, network, topic, 10, 0.5)
        if time.monotonic() > deadline:
            raise TimeoutError("nothing arrives")


def write(loop: Loop, network: Network, topic: str, rate: int, seconds: float) -> None:
    """Records that carry their birth time, so many a second."""
    began = time.monotonic()
    for number in range(int(rate * seconds)):
        pause = began + number / rate - time.monotonic()
        if pause > 0:
            time.sleep(pause)
        write_birth(loop, network, TopicPartition(topic, number % PARTITIONS))


def write_birth(loop: Loop, network: Network, where: TopicPartition, record_bytes: int = 0) -> int:
    """One record that carries its birth time in ns, which is returned; behind as many zeros as make it large enough."""
    now = time.time_ns()
    value = str(now).zfill(record_bytes - len(_KEY)).encode()
    writing.append(loop, network, where, [Record(0, now // 1_000_000, _KEY, value)])
    return now
