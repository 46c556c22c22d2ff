"""Topics under load, the real command that mirrors them, and the question whether both sides are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.checker.comparison import compare
from tests.waiting import wait_until

PARTITIONS = 6
_SINGLE_BROKERS = {
    "emit.heartbeats.enabled": "false",
    "replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "ledger.topic.replication.factor": "1",
    "tasks.max": "2",
}


class Stage:
    """One topic under load, mirrored from the first cluster to the second."""

    def __init__(
        self,
        clusters: Sequence[EmbeddedCluster],
        folder: Path,
        topic: str,
        aliases: tuple[str, str] = ("primary", "backup"),
        options: Mapping[str, str] | None = None,
        replicas: int = 1,
    ) -> None:
        self.source, self.target = clusters
        self.topic = topic
        self.copy = f"{aliases[0]}.{topic}"
        self.faults = folder / "faults"
        self.log = folder / "mirror.log"
        self.settings = folder / "mm2.properties"
        chosen = {f"{aliases[0]}->{aliases[1]}.topics": topic, **(options or {})}
        write_settings(self.settings, dict(zip(aliases, clusters, strict=True)), ["->".join(aliases)], chosen)
        with admin_of(self.source) as admin:
            admin.create_topics([NewTopic(topic, PARTITIONS, replicas)])

    @property
    def pairs(self) -> dict[TopicPartition, TopicPartition]:
        """Each partition of the topic and its copy."""
        return copies(self.topic, self.copy, PARTITIONS)

    def start(self) -> MirrorProcess:
        """Another mirror of this topic."""
        return MirrorProcess(self.settings, self.log, self.faults)

    def load(self) -> Load:
        """Records on the source from now on."""
        return Load(self.source.bootstrap_servers, self.topic, PARTITIONS, per_second=500)

    def await_progress(self, seconds: float = 60) -> None:
        """Wait until the target grows beyond what it has now."""
        await_growth(self.target, self.copy, seconds)

    def expect_equal(self, at_least: int = 100) -> None:
        """Wait for the mirror to catch up, then compare by content."""
        expect_equal(self.source, self.target, self.pairs, at_least, self.log)


def write_settings(
    file: Path, clusters: Mapping[str, EmbeddedCluster], flows: Sequence[str], options: Mapping[str, str]
) -> None:
    """A `mm2.properties` for clusters of single brokers; the options come last, so that they prevail."""
    lines = {
        "clusters": ", ".join(clusters),
        **{f"{alias}.bootstrap.servers": cluster.bootstrap_servers for alias, cluster in clusters.items()},
        **{f"{flow}.enabled": "true" for flow in flows},
        **_SINGLE_BROKERS,
        **options,
    }
    file.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))


def admin_of(cluster: EmbeddedCluster) -> Admin:
    """An administrator of the cluster, to be closed."""
    return Admin(Access(cluster.alias, cluster.bootstrap_servers.split(",")))


def copies(topic: str, copy: str, partitions: int) -> dict[TopicPartition, TopicPartition]:
    """Each partition of a topic and its copy."""
    return {TopicPartition(topic, number): TopicPartition(copy, number) for number in range(partitions)}


def used_offsets(cluster: EmbeddedCluster, topic: str) -> int:
    """How many offsets of a topic are used: on a target it grows with every transaction that is written."""
    with admin_of(cluster) as admin:
        found = admin.topics().get(topic)
        if found is None:
            return 0
        return sum(admin.end_offsets([TopicPartition(topic, number) for number in range(found.partitions)]).values())


def await_growth(cluster: EmbeddedCluster, topic: str, seconds: float = 60) -> None:
    """Wait until a topic grows beyond what it has now."""
    before = used_offsets(cluster, topic)
    wait_until(lambda: used_offsets(cluster, topic) > before + 10, f"records in {topic}", seconds, 0.2)


def expect_equal(
    source: EmbeddedCluster,
    target: EmbeddedCluster,
    pairs: Mapping[TopicPartition, TopicPartition],
    at_least: int,
    log: Path,
) -> None:
    """Wait for the mirror to catch up, then compare by content; records that are not there yet are only awaited."""

    def has_caught_up() -> bool:
        report = compare(source.bootstrap_servers, target.bootstrap_servers, pairs)
        return report.is_equal or not all(finding.kind.name == "LOST" for finding in report.findings)

    wait_until(has_caught_up, "the mirror to catch up", 60, 0.5)
    report = compare(source.bootstrap_servers, target.bootstrap_servers, pairs)
    assert report.is_equal, f"{report}\n{log.read_text(errors='replace')[-3000:]}"
    assert report.record_count >= at_least
