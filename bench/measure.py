"""What is measured, by looking at the target only: committed offsets, times, processor seconds, memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bench.rivals import Rival, Usage
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import batches, fetching, reading
from heliograph.kafka.aborted import AbortedTransactions
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.fetching import READ_COMMITTED, FetchLimits, FetchPoint, FetchSession
from heliograph.kafka.network import Network
from heliograph.kafka.reading import EARLIEST, LATEST

_POLL_SECONDS = 0.02
_PATIENCE_SECONDS = 60.0


class TargetView:
    """The partitions of one topic on the target."""

    def __init__(self, cluster: EmbeddedCluster, topic: str) -> None:
        self._access = Access(cluster.alias, [cluster.bootstrap_servers])
        self._topic = topic
        self._loop = Loop()
        self._network: Network | None = None

    def committed(self) -> int:
        """How many offsets are committed."""
        network = self._known()
        if network is None:
            return 0
        wanted = dict.fromkeys(network.partitions(self._topic), LATEST)
        return sum(reading.list_offsets(network, self._topic, wanted, READ_COMMITTED).values())

    def count_records(self) -> int:
        """How many committed records there are, from the batches' headers."""
        network = self._known()
        assert network is not None
        network.refresh([self._topic])
        starts = reading.list_offsets(network, self._topic, dict.fromkeys(network.partitions(self._topic), EARLIEST))
        ends = reading.list_offsets(network, self._topic, dict.fromkeys(starts, LATEST), READ_COMMITTED)
        return sum(self._count(network, partition, starts[partition], ends[partition]) for partition in starts)

    def close(self) -> None:
        """Hang up."""
        self._loop.close()

    def _known(self) -> Network | None:
        if self._network is None:
            with Admin(self._access) as admin:
                if self._topic not in admin.topics([self._topic]):
                    return None
            network = Network(self._loop, self._access)
            network.refresh([self._topic])
            self._network = network
        return self._network

    def _count(self, network: Network, partition: int, start: int, end: int) -> int:
        connection = network.connection(network.leader(self._topic, partition).broker_id)
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        session = FetchSession(version, FetchLimits(max_wait_ms=100, partition_max_bytes=8 << 20))
        point = FetchPoint(self._topic, network.topic_id(self._topic), partition, start)
        session.add(point)
        aborted = AbortedTransactions()
        total = 0
        while point.offset < end:
            result = reading.fetch_once(self._loop, connection, session)
            for fetched in result.partitions:
                aborted.announce(fetched.aborted)
                for _, batch in batches.split(fetched.records):
                    header = batches.read_header(batch)
                    if not aborted.hides(batch, header):
                        total += header.record_count
                    point.offset = header.last_offset + 1
                session.moved(point)
        return total


@dataclass(frozen=True)
class CatchUp:
    """One rival's way through one workload."""

    records_per_second: float
    whole_seconds: float
    start_seconds: float
    cpu_seconds_per_gb: float
    peak_mb: float
    peak_lane_mb: float
    counted: int


def catch_up(
    rival: Rival, target: EmbeddedCluster, topic: str, records: int, gigabytes: float, patience: float = 300
) -> CatchUp:
    """Start the rival, follow it to the last record, and count what arrived."""
    view = TargetView(target, topic)
    began = time.monotonic()
    with rival:
        first, usage_at_first, seen_at_first = 0.0, Usage(), 0
        while (seen := view.committed()) < records:
            now = time.monotonic()
            if seen and not first:
                first, usage_at_first, seen_at_first = now, rival.usage(), seen
            if now - began > patience:
                raise TimeoutError(f"{rival.name} copied {seen} of {records} within {patience:.0f} s")
            time.sleep(_POLL_SECONDS)
        last, usage = time.monotonic(), rival.usage()
        time.sleep(1)
        usage_after = rival.usage()
    counted = view.count_records()
    view.close()
    copied = records - seen_at_first
    share = copied / records
    return CatchUp(
        copied / max(last - first, 1e-6), last - began, first - began,
        (usage.cpu_seconds - usage_at_first.cpu_seconds) / max(gigabytes * share, 1e-9),
        usage_after.peak_bytes / 1e6, usage_after.peak_lane_bytes / 1e6, counted,
    )  # fmt: skip


def log_gigabytes(source: EmbeddedCluster, topic: str) -> float:
    """How large the topic's log is on the source."""
    folder = source.folder
    files = folder.glob(f"node-*/data/{topic}-*/*.log")
    return sum(file.stat().st_size for file in files) / 1e9


@dataclass(frozen=True)
class Latency:
    """Milliseconds from a record's creation to a read_committed consumer's hands on the target."""

    p50: float
    p99: float
    count: int


class LatencyConsumer:
    """Reads a topic on the target as records get committed, and notes how old each is."""

    def __init__(self, cluster: EmbeddedCluster, topic: str, partitions: int) -> None:
        self._access = Access(cluster.alias, [cluster.bootstrap_servers])
        self._topic = topic
        self._partitions = partitions
        self._listening, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._consume, daemon=True)
        self._seen: list[tuple[int, int]] = []  # birth and arrival in ns

    def start(self) -> None:
        """Begin to listen; what is committed from now on will be seen."""
        self._thread.start()
        if not self._listening.wait(_PATIENCE_SECONDS):
            raise TimeoutError(f"cannot listen to {self._topic} within {_PATIENCE_SECONDS:.0f} s")

    def stop(self) -> list[float]:
        """All ages in ms."""
        self._stopping.set()
        self._thread.join()
        return [(arrival - birth) / 1e6 for birth, arrival in self._seen]

    def first_arrivals(self) -> dict[int, int]:
        """When each record arrived for the first time, by its birth; both in ns."""
        return dict(reversed(self._seen))

    def _consume(self) -> None:
        from heliograph.kafka import records

        loop = Loop()
        network = Network(loop, self._access)
        network.refresh([self._topic])
        connection = network.connection(network.leader(self._topic, 0).broker_id)
        version = connection.version(fetching.API_KEY, fetching.HIGHEST_VERSION, fetching.LOWEST_VERSION)
        session = FetchSession(version, FetchLimits(max_wait_ms=200))
        ends = reading.list_offsets(network, self._topic, dict.fromkeys(range(self._partitions), LATEST))
        for partition, end in ends.items():
            session.add(FetchPoint(self._topic, network.topic_id(self._topic), partition, end))
        aborted: Mapping[int, AbortedTransactions] = {number: AbortedTransactions() for number in ends}
        self._listening.set()
        while not self._stopping.is_set():
            result = reading.fetch_once(loop, connection, session)
            now = time.time_ns()
            for fetched in result.partitions:
                aborted[fetched.point.partition].announce(fetched.aborted)
                for magic, batch in batches.split(fetched.records):
                    header = batches.read_header(batch)
                    if not aborted[fetched.point.partition].hides(batch, header):
                        self._seen += [(int(record.value or b"0"), now) for record in records.decode(magic, batch)]
                    fetched.point.offset = header.last_offset + 1
                session.moved(fetched.point)
        loop.close()
