"""Two hundred groups with a thousand partitions each: how long one round of the group sync takes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.rivals import Heliograph
from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import BrokerRefused
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.connection import Loop
from heliograph.kafka.groups import Committed, Groups, Offsets
from heliograph.kafka.network import Network
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.groups import GroupSync

MUST_SECONDS = 5.0
TOPICS = "synced-.*"
_TOPIC_COUNT, _PARTITIONS, _GROUPS = 100, 10, 200
_RECORDS = 200  # so that no two groups stand at the same place
_MOVED_EVERY = 100  # one of so many offsets moves between the rounds
_COPYING_SECONDS = 180.0


@dataclass(frozen=True)
class GroupSyncTimes:
    """Seconds of the first round, which writes all, and of a later one, which writes one in a hundred."""

    first: float
    later: float

    def __str__(self) -> str:
        size = f"{_GROUPS} groups x {_TOPIC_COUNT * _PARTITIONS:,} partitions"
        return f"{size}: all offsets in {self.first:.2f} s, 1 % moved in {self.later:.2f} s (must {MUST_SECONDS:.0f} s)"


def group_sync(
    properties: Mapping[str, str], folder: Path, source: EmbeddedCluster, target: EmbeddedCluster
) -> GroupSyncTimes:
    """Copy a few records of each partition, let all groups commit, and sync them twice."""
    partitions = _fill(source)
    with Heliograph(properties, folder):
        _await_copy(target, [TopicPartition(f"primary.{topic}", number) for topic, number in partitions])
    flow = _flow(folder, properties)
    sync = GroupSync(GroupOffsets(flow))
    with Groups(Access(source.alias, [source.bootstrap_servers])) as groups:
        groups.commit({_name(number): _standing(partitions, number) for number in range(_GROUPS)})
        first = _timed_round(sync, _GROUPS * len(partitions))
        moved = {_name(number): _moved(partitions, number) for number in range(_GROUPS)}
        groups.commit(moved)
        later = _timed_round(sync, sum(map(len, moved.values())))
    return GroupSyncTimes(first, later)


def _timed_round(sync: GroupSync, offsets: int) -> float:
    began = time.monotonic()
    result = sync.run()
    seconds = time.monotonic() - began
    if result.written_partitions != offsets or result.inexact:
        raise AssertionError(f"not {offsets} offsets written: {result}")
    return seconds


def _name(number: int) -> str:
    return f"synced-{number:03d}"


def _standing(partitions: Sequence[TopicPartition], group: int) -> Offsets:
    """Each group stands elsewhere in each partition, and before the last record."""
    return {where: Committed((group + index) % _RECORDS) for index, where in enumerate(partitions)}


def _moved(partitions: Sequence[TopicPartition], group: int) -> Offsets:
    return {where: Committed(_RECORDS) for where in partitions[group % _MOVED_EVERY :: _MOVED_EVERY]}


def _flow(folder: Path, properties: Mapping[str, str]) -> FlowConfig:
    file = folder / "group-sync.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in properties.items()))
    flow = load(file).flow("primary->backup")
    assert flow is not None
    return flow


def _fill(source: EmbeddedCluster) -> list[TopicPartition]:
    names = [f"synced-{number:03d}" for number in range(_TOPIC_COUNT)]
    partitions = [TopicPartition(name, number) for name in names for number in range(_PARTITIONS)]
    access = Access(source.alias, [source.bootstrap_servers])
    with Admin(access) as admin:
        admin.create_topics([NewTopic(name, _PARTITIONS, 1, {}) for name in names])
        assert not admin.wait_for_topics(dict.fromkeys(names, _PARTITIONS), patience=120)
    loop = Loop()
    network = Network(loop, access)
    network.refresh(names)
    records = [Record(index, int(time.time() * 1000), b"key", str(index).encode()) for index in range(_RECORDS)]
    for where in partitions:
        writing.append(loop, network, where, records)
    loop.close()
    return partitions


def _await_copy(target: EmbeddedCluster, wanted: Sequence[TopicPartition]) -> None:
    deadline = time.monotonic() + _COPYING_SECONDS
    with Admin(Access(target.alias, [target.bootstrap_servers])) as admin:
        while not _is_copied(admin, wanted):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not everything is copied after {_COPYING_SECONDS:.0f} s")
            time.sleep(0.5)


def _is_copied(admin: Admin, wanted: Sequence[TopicPartition]) -> bool:
    """Whether every partition holds all records and the marker of the transaction that brought them."""
    known = admin.topics({where.topic for where in wanted})
    there = [where for where in wanted if where.topic in known]
    try:
        return len(there) == len(wanted) and all(end > _RECORDS for end in admin.end_offsets(there).values())
    except BrokerRefused:  # some have no leader yet
        return False
