"""A mirrored topic under load with groups that lag: what operations move between clusters."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
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
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.last_commits import last_places
from heliograph.recovery.switchover import MoveOptions
from tests.chaos.load import Load
from tests.chaos.stage import admin_of, await_growth, ends, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 3
GROUPS = 20
QUICK = MoveOptions(quiet_seconds=0.5, patience_seconds=60)
RECOVERY_SECONDS = 30  # until a mirror goes on after an operation, also on busy cores
_PATIENCE_SECONDS = 60  # for whatever is not measured

_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "3",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
}
SAME_NAMES = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
ONE_LANE = {"tasks.max": "1"}
AT_LEAST_ONCE = {"exactly.once.source.support": "disabled"}


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
        """The file has this flow alone, unless `share` writes one for several."""
        self.source, self.target = source, target
        self.a, self.b = fresh_name("alpha"), fresh_name("beta")
        self.topic = fresh_name("moved")
        self._group_prefix = fresh_name("group")
        self._group_count = 0
        self._is_begun = False
        self._begins: dict[TopicPartition, int] = {}
        self.groups = [self._next_group() for _ in range(GROUPS)]
        self.keeps_names = (options or {}).get("replication.policy.class", "").endswith("IdentityReplicationPolicy")
        self.copy = self.topic if self.keeps_names else f"{self.a}.{self.topic}"
        self.flows = [f"{self.a}->{self.b}", *([f"{self.b}->{self.a}"] if both_ways else [])]
        self._options = options or {}
        self.file = folder / "mm2.properties"
        share(self.file, [self])
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])

    @property
    def clusters(self) -> dict[str, EmbeddedCluster]:
        """By their aliases."""
        return {self.a: self.source, self.b: self.target}

    def settings(self) -> dict[str, str]:
        """What the file says of its flows alone."""
        chosen = {"topics": self.topic, "groups": f"{self._group_prefix}-.*", **self._options}
        return {f"{flow}.{name}": value for flow in self.flows for name, value in chosen.items()}

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

    def load(self, per_second: int = 600) -> Load:
        """Numbered records on the source."""
        return Load(self.source.bootstrap_servers, self.topic, PARTITIONS, per_second, fresh_name("load"))

    def await_growth(self) -> None:
        """Records arrive."""
        await_growth(self.target, self.copy)

    def await_equal(self, what: str, seconds: float = _PATIENCE_SECONDS) -> None:
        """Wait until the copy holds what the topic holds. Contents are read only when there can be enough of them."""
        deadline = time.monotonic() + seconds
        if not self.keeps_names:  # else the topic itself has offsets without records, those of the flow back
            self._await_offsets(what, seconds)
        left = max(1.0, deadline - time.monotonic())
        wait_until(lambda: contents(self.target, self.copy) == contents(self.source, self.topic), what, left, 0.5)

    def _await_offsets(self, what: str, seconds: float) -> None:
        pairs = {TopicPartition(self.topic, n): TopicPartition(self.copy, n) for n in range(PARTITIONS)}
        with admin_of(self.source) as source, admin_of(self.target) as target:

            def can_be_equal() -> bool:
                wanted, found = source.end_offsets(pairs), target.stable_offsets(pairs.values())
                return all(found[copy] >= wanted[where] for where, copy in pairs.items())

            wait_until(can_be_equal, f"{what}: as many offsets on the target", seconds, 0.2)

    def commit_somewhere(self, seed: int = 1) -> None:
        """Groups have read up to random places of what there is now."""
        chance, where = random.Random(seed), [TopicPartition(self.topic, number) for number in range(PARTITIONS)]
        with admin_of(self.source) as admin:
            written = admin.end_offsets(where)
        offsets = {
            name: {
                item: Committed(chance.randint(self._begins.get(item, 0), written[item]), f"by {name}")
                for item in where
            }
            for name in self.groups
        }
        with Groups(access(self.source)) as groups:
            groups.commit(offsets)

    def begin_anew(self) -> None:
        """A flow that is open and level, and groups that have never been moved and have read what others wrote here."""
        if self._is_begun:
            gate = FlowGate(self.flow)
            if gate.is_closed:
                gate.open()
            self.await_equal("all that another test has written here")
            self.groups = [self._next_group() for _ in self.groups]
            self._begins = ends(self.source, self.topic)
        self._is_begun = True

    def new_group(self) -> str:
        """One more group, that has read nothing yet."""
        self.groups.append(self._next_group())
        return self.groups[-1]

    def _next_group(self) -> str:
        self._group_count += 1
        return f"{self._group_prefix}-{self._group_count}"

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
            found = [item for item in last_places(read_books(self.flow)) if item.group in self.groups]
            return wanted == {(item.group, item.source.partition): item.source_offset for item in found}

        wait_until(is_seen, "checkpoints of all groups", _PATIENCE_SECONDS, 0.5)

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


def share(file: Path, stages: Sequence[MoveStage]) -> None:
    """One file for all these stages: a mirror of it runs all their flows."""
    clusters = {alias: cluster for stage in stages for alias, cluster in stage.clusters.items()}
    options = dict(_OPTIONS)
    for stage in stages:
        options |= stage.settings()
        stage.file = file
    write_settings(file, clusters, [flow for stage in stages for flow in stage.flows], options)


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
