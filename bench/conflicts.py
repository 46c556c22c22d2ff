"""What it costs to look for conflicts in a topic that is written to on both clusters, and how fast it can be done."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.rivals import Heliograph
from heliograph.conflicts.decision import TOPIC, Decision, decode_decision
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.conflicts.progress import KnownProgress
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition

RATE = 20_000  # records/s of the topic, half of them written on each cluster
NAME = "bench-conflicts"
_PARTITIONS = 4
_KEYS = 100_000
_ROUND_SECONDS = 0.1
_SETTLING_SECONDS = 30.0
_PATIENCE_SECONDS = 180.0
_PROGRESS = "mm2-conflicts.backup.internal"


@dataclass(frozen=True)
class Detection:
    """Shares of a core without and with detection, and how soon decisions are there after the last of their records."""

    plain_share: float
    share: float
    view_share: float
    delay: float
    found: int
    sown: int
    catch_up: float

    def __str__(self) -> str:
        return (
            f"a topic of {RATE:,} records/s, {_KEYS:,} keys, half written on each cluster: the mirror takes "
            f"{self.plain_share:.2f} of a core without detection, {self.share:.2f} with it on one cluster, "
            f"{self.view_share:.2f} with a view too; {self.found} of {self.sown} conflicts found, decided "
            f"{self.delay:.1f} s after the last record (5 s of them are the window, 2 s the lateness); "
            f"catching up at {self.catch_up:,.0f} records/s"
        )


def detection(
    properties: Mapping[str, str], folder: Path, source: EmbeddedCluster, target: EmbeddedCluster, seconds: float
) -> Detection:
    """Measure a mirror alone, with detection on its target, and with a view."""
    wanted = {"conflicts.topics": NAME, "conflicts.topic.replication.factor": "1"}
    with_view = {**wanted, "conflicts.output": "{topic}.resolved"}
    for cluster in (source, target):
        with Admin(_access(cluster)) as admin:
            admin.create_topics([NewTopic(NAME, _PARTITIONS, 1)])
            admin.wait_for_topics({NAME: _PARTITIONS})
    with _load(source, target) as load:
        with Heliograph(dict(properties), folder, "plain") as mirror:
            plain = _share(mirror, seconds)
        with Heliograph({**properties, **wanted}, folder, "detection") as mirror:
            catch_up = _catch_up(target)
            share = _share(mirror, seconds)
        with Heliograph({**properties, **with_view}, folder, "view") as mirror:
            view_share = _share(mirror, seconds)
            load.stop()
            decisions = _all_decisions(target, load.sown)
    found = {item.conflict.key for item in decisions} & load.sown
    delays = [(item.decided_at_ms - item.conflict.last.timestamp_ms) / 1000 for item in decisions[-200:]]
    return Detection(plain, share, view_share, statistics.median(delays), len(found), len(load.sown), catch_up)


def _share(mirror: Heliograph, seconds: float) -> float:
    """The share of a core when all has settled."""
    time.sleep(_SETTLING_SECONDS)
    began, cpu = time.monotonic(), mirror.usage().cpu_seconds
    time.sleep(seconds)
    return (mirror.usage().cpu_seconds - cpu) / (time.monotonic() - began)


def _all_decisions(target: EmbeddedCluster, sown: set[bytes]) -> list[Decision]:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        found = _decisions(target)
        if sown <= {item.conflict.key for item in found} or time.monotonic() > deadline:
            return found
        time.sleep(1)


def _catch_up(target: EmbeddedCluster) -> float:
    """How fast detection reads until it is near the end: records between two looks, by what it has written down."""
    first = None
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.5)
        now, read, end = time.monotonic(), _read_to(target), _end(target)
        if read and first is None:
            first = now, read
        if first and end - read < 10 * RATE:
            return (read - first[1]) / max(1e-3, now - first[0])
    raise AssertionError("detection does not catch up")


def _read_to(target: EmbeddedCluster) -> int:
    with opened(_access(target)) as (loop, network):
        if network.look_up([_PROGRESS]):
            return 0
        network.refresh([_PROGRESS])
        first = reading.list_offsets(network, _PROGRESS, {0: reading.EARLIEST})
        known = KnownProgress(record for _, record in reading.read_to_end(loop, network, _PROGRESS, first))
    return sum(least for least, _ in known.read_to().values())


def _end(target: EmbeddedCluster) -> int:
    with Admin(_access(target)) as admin:
        infos = admin.topics([NAME, f"primary.{NAME}"])
        return sum(
            admin.stable_offsets(
                [TopicPartition(name, n) for name, info in infos.items() for n in range(info.partitions)]
            ).values()
        )


def _decisions(target: EmbeddedCluster) -> list[Decision]:
    with opened(_access(target), [TOPIC]) as (loop, network):
        first = reading.list_offsets(network, TOPIC, {0: reading.EARLIEST})
        return [decode_decision(record.value or b"") for _, record in reading.read_to_end(loop, network, TOPIC, first)]


class _Load:
    """Two writers; in each round one key is written by both."""

    def __init__(self, clusters: Mapping[str, EmbeddedCluster]) -> None:
        self._clusters = clusters
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(name,), daemon=True) for name in clusters]
        self._began = time.time()
        self.sown: set[bytes] = set()

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _write(self, name: str) -> None:
        chance, number = random.Random(name), 0
        with opened(_access(self._clusters[name]), [NAME]) as (loop, network):
            while not self._stopping.is_set():
                number += 1
                by_partition = self._round(name, number, chance)
                for partition, records in by_partition.items():
                    writing.append(loop, network, TopicPartition(NAME, partition), records)
                self._stopping.wait(max(0.0, self._began + number * _ROUND_SECONDS - time.time()))

    def _round(self, name: str, number: int, chance: random.Random) -> dict[int, list[Record]]:
        """The same number on both sides is the same key, at nearly the same time."""
        now_ms = int(time.time() * 1000)
        shared = f"both-{number}".encode()
        self.sown.add(shared)
        keys = [f"{name}-{chance.randrange(_KEYS // 2)}".encode() for _ in range(round(RATE / 2 * _ROUND_SECONDS) - 1)]
        made: dict[int, list[Record]] = {}
        for key in (*keys, shared):
            value = b'{"by": "%s", "round": %d, "padding": "%s"}' % (name.encode(), number, b"x" * 150)
            made.setdefault(positions.partition_for(key, _PARTITIONS), []).append(Record(0, now_ms, key, value))
        return made


@contextmanager
def _load(source: EmbeddedCluster, target: EmbeddedCluster) -> Iterator[_Load]:
    load = _Load({"primary": source, "backup": target})
    load.start()
    try:
        yield load
    finally:
        load.stop()


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, [cluster.bootstrap_servers])
