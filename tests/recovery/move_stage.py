"""A mirrored topic under load with groups that lag: what operations move between clusters."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.groups import Committed, Groups, Offsets
from heliograph.kafka.network import opened
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from heliograph.recovery.books import read_books
from heliograph.recovery.last_commits import last_places
from heliograph.recovery.switchover import MoveOptions
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess, MirrorRuns
from tests.chaos.stage import admin_of, await_growth, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 3
GROUPS = 20
QUICK = MoveOptions(quiet_seconds=0.5, patience_seconds=60)

_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
}
SAME_NAMES = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


class MoveStage:
    """Two clusters, one flow from the first to the second, groups on the first."""

    def __init__(
        self,
        source: EmbeddedCluster,
        target: EmbeddedCluster,
        folder: Path,
        options: Mapping[str, str] | None = None,
        both_ways: bool = False,
    ) -> None:
        self.source, self.target = source, target
        self.a, self.b = fresh_name("alpha"), fresh_name("beta")
        self.topic = fresh_name("moved")
        self._group_prefix = fresh_name("group")
        self.groups = [f"{self._group_prefix}-{number}" for number in range(GROUPS)]
        self.keeps_names = (options or {}).get("replication.policy.class", "").endswith("IdentityReplicationPolicy")
        self.copy = self.topic if self.keeps_names else f"{self.a}.{self.topic}"
        self.file = folder / "mm2.properties"
        self._mirrors = MirrorRuns(self.file)
        flows = [f"{self.a}->{self.b}", *([f"{self.b}->{self.a}"] if both_ways else [])]
        chosen = {"topics": self.topic, "groups": f"{self._group_prefix}-.*", **_OPTIONS, **(options or {})}
        write_settings(self.file, {self.a: source, self.b: target}, flows, chosen)
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])

    @property
    def config(self) -> MirrorConfig:
        """The file."""
        return load(self.file)

    @property
    def flow(self) -> FlowConfig:
        """From the first cluster to the second."""
        flow = self.config.flow(f"{self.a}->{self.b}")
        assert flow is not None
        return flow

    def mirror(self) -> AbstractContextManager[MirrorProcess]:
        """`heliograph run` of the file."""
        return self._mirrors.one()

    def load(self, per_second: int = 600) -> Load:
        """Numbered records on the source."""
        return Load(self.source.bootstrap_servers, self.topic, PARTITIONS, per_second, fresh_name("load"))

    def await_growth(self) -> None:
        """Records arrive."""
        await_growth(self.target, self.copy)

    def commit_somewhere(self, seed: int = 1) -> None:
        """Groups have read up to random places of what there is now."""
        chance, where = random.Random(seed), [TopicPartition(self.topic, number) for number in range(PARTITIONS)]
        with admin_of(self.source) as admin:
            ends = admin.end_offsets(where)
        offsets = {
            name: {item: Committed(chance.randint(0, ends[item]), f"by {name}") for item in where}
            for name in self.groups
        }
        with Groups(access(self.source)) as groups:
            groups.commit(offsets)

    def new_group(self) -> str:
        """One more group, that has read nothing yet."""
        self.groups.append(f"{self._group_prefix}-{len(self.groups)}")
        return self.groups[-1]

    def committed(self, cluster: EmbeddedCluster) -> dict[str, Offsets]:
        """What the groups have committed on a cluster."""
        with Groups(access(cluster)) as groups:
            return dict(groups.committed(self.groups))

    def await_seen(self) -> None:
        """Wait until the mirror has seen what groups have committed: a failover would set them by that."""
        wanted = {
            (group, where.partition): item.offset
            for group, offsets in self.committed(self.source).items()
            for where, item in offsets.items()
        }

        def is_seen() -> bool:
            found = last_places(read_books(self.flow))
            return wanted == {(item.group, item.source.partition): item.source_offset for item in found}

        wait_until(is_seen, "checkpoints of all groups", 30, 0.5)

    def run_killed_after(self, step: str, operation: str, *options: str) -> None:
        """Run a command of which nothing is left after that step."""
        file = self.file.with_name("killed.properties")
        hook = f"hooks = end\nhooks.end.when = after {step}\nhooks.end.command = kill -9 $PPID\n"
        file.write_text(self.file.read_text() + hook)
        command = [sys.executable, "-m", "heliograph", operation, str(file), "--flow", self.flow.name, "--yes"]
        assert subprocess.run([*command, *options], check=False).returncode == -9

    def rests(self, cluster: EmbeddedCluster, topics: Sequence[str]) -> dict[tuple[str, int], list[bytes]]:
        """What each group would still read on a cluster, by partition."""
        logs = {topic: values(cluster, topic) for topic in topics}
        return {
            (group, number): [
                value
                for topic in topics
                for offset, value in logs[topic][number]
                if offset >= (at.offset if (at := offsets.get(TopicPartition(topic, number))) else 0)
            ]
            for group, offsets in self.committed(cluster).items()
            for number in range(PARTITIONS)
        }


def access(cluster: EmbeddedCluster) -> Access:
    """As anybody."""
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))


def values(cluster: EmbeddedCluster, topic: str) -> dict[int, list[tuple[int, bytes]]]:
    """Every committed record of a topic, by partition; nothing where there is no such topic."""
    found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in range(PARTITIONS)}
    with admin_of(cluster) as admin:
        if not admin.topics([topic]):
            return found
    with opened(access(cluster), [topic]) as (loop, network):
        for partition, record in reading.read_to_end(loop, network, topic, dict.fromkeys(range(PARTITIONS), 0)):
            found[partition].append((record.offset, record.value or b""))
    return found


def contents(cluster: EmbeddedCluster, topic: str) -> Counter[bytes]:
    """How often each value is in a topic, over all partitions."""
    return Counter(value for items in values(cluster, topic).values() for _, value in items)
