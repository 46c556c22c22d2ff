"""A thousand topics with a trickle: how long until all flow, and what idling costs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.rivals import Rival
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition

_IDLE_SECONDS = 20.0


@dataclass(frozen=True)
class ManyTopics:
    """Seconds from process start until every partition has its record on the target; share of a core when idle."""

    seconds: float
    idle_share: float


def many_topics(
    rival: Rival, source: EmbeddedCluster, target: EmbeddedCluster, topics: int, partitions: int
) -> ManyTopics:
    """One record in every partition of every topic; then nothing more."""
    names = [f"many-{number:04d}" for number in range(topics)]
    _fill(source, names, partitions)
    wanted = [TopicPartition(f"primary.{name}", number) for name in names for number in range(partitions)]
    began = time.monotonic()
    with rival, Admin(Access(target.alias, [target.bootstrap_servers])) as admin:
        while not _all_there(admin, wanted):
            if time.monotonic() - began > 600:
                raise TimeoutError(f"{rival.name}: not all topics flow after 600 s")
            time.sleep(0.5)
        seconds = time.monotonic() - began
        time.sleep(5)
        before = rival.usage().cpu_seconds
        time.sleep(_IDLE_SECONDS)
        idle = (rival.usage().cpu_seconds - before) / _IDLE_SECONDS
    return ManyTopics(seconds, idle)


def _fill(source: EmbeddedCluster, names: list[str], partitions: int) -> None:
    access = Access(source.alias, [source.bootstrap_servers])
    with Admin(access) as admin:
        for start in range(0, len(names), 100):
            admin.create_topics([NewTopic(name, partitions, 1, {}) for name in names[start : start + 100]])
        assert not admin.wait_for_topics(dict.fromkeys(names, partitions), patience=120)
    loop = Loop()
    network = Network(loop, access)
    network.refresh(names)
    for name in names:
        for partition in range(partitions):
            record = Record(0, int(time.time() * 1000), b"key", b"value")
            writing.append(loop, network, TopicPartition(name, partition), [record])
    loop.close()


def _all_there(admin: Admin, wanted: list[TopicPartition]) -> bool:
    known = admin.topics()
    if any(where.topic not in known for where in wanted):
        return False
    try:
        return all(end > 0 for end in admin.end_offsets(wanted).values())
    except BrokerRefused:  # some have no leader yet
        return False
