"""Topics under load, the real command that mirrors them, and the question whether both sides are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.java import QUICK_START
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.checker import Report, compare_when_level
from tests.waiting import wait_until

PARTITIONS = 6
RECOVERY_SECONDS = 30  # after which all partitions must be mirrored again, whatever was killed
PATIENCE_SECONDS = 120  # for whatever is not measured: machines differ
_SINGLE_BROKERS = {
    "emit.heartbeats.enabled": "false",
    "replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "offset.storage.partitions": "2",  # 25 would be created, fenced and read for each flow; some tests do have them
    "ledger.topic.replication.factor": "1",
    "tasks.max": "2",
    "spark.driver.extraJavaOptions": " ".join(QUICK_START),  # also where SQL or detection would have all compilers
}
_MARKERS = 10  # more than lanes that are ended, and fenced, add to a partition without any record


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
        self.faults = folder / "faults"
        self.settings = folder / "mm2.properties"
        self._folder = folder
        self._alias = aliases[0]
        self._replicas = replicas
        self._starts = 0
        chosen = {f"{aliases[0]}->{aliases[1]}.topics": topic, **(options or {})}
        write_settings(self.settings, dict(zip(aliases, clusters, strict=True)), ["->".join(aliases)], chosen)
        self.turn_to(topic)

    def turn_to(self, topic: str) -> None:
        """Create a topic: from now on everything here is about this one."""
        self.topic = topic
        self.copy = f"{self._alias}.{topic}"
        with admin_of(self.source) as admin:
            admin.create_topics([NewTopic(topic, PARTITIONS, self._replicas)])

    @property
    def pairs(self) -> dict[TopicPartition, TopicPartition]:
        """Each partition of the topic and its copy."""
        return copies(self.topic, self.copy, PARTITIONS)

    @property
    def log(self) -> Path:
        """What the newest mirror writes."""
        return self._folder / f"mirror-{self._starts}.log"

    def start(self) -> MirrorProcess:
        """Another mirror of this topic."""
        self._starts += 1
        return MirrorProcess(self.settings, self.log, self.faults)

    def load(self) -> Load:
        """Records on the source from now on."""
        return Load(self.source.bootstrap_servers, self.topic, PARTITIONS, per_second=500)

    def await_progress(self) -> None:
        """Wait until every partition on the target grows beyond what it has now."""
        await_growth(self.target, self.copy)

    def await_recovery(self) -> None:
        """The same, after a kill: soon."""
        await_growth(self.target, self.copy, RECOVERY_SECONDS)

    def expect_equal(self, at_least: int = 100) -> Report:
        """Wait for the mirror to catch up, then compare by content."""
        return expect_equal(self.source, self.target, self.pairs, at_least, self.log)


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


def ends(cluster: EmbeddedCluster, topic: str) -> dict[TopicPartition, int]:
    """The end of each partition: on a target it moves with every transaction. Empty while there is no such topic."""
    with admin_of(cluster) as admin:
        return _ends(admin, topic)


def _ends(admin: Admin, topic: str) -> dict[TopicPartition, int]:
    found = admin.topics([topic]).get(topic)
    return admin.end_offsets([TopicPartition(topic, number) for number in range(found.partitions)]) if found else {}


def await_growth(cluster: EmbeddedCluster, topic: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait until every partition of a topic grows beyond what it has now."""
    with admin_of(cluster) as admin:
        before = _ends(admin, topic)

        def has_grown() -> bool:
            now = _ends(admin, topic)
            return bool(now) and all(end > before.get(where, 0) + _MARKERS for where, end in now.items())

        wait_until(has_grown, f"records in all partitions of {topic}", seconds, 0.1)


def expect_equal(
    source: EmbeddedCluster,
    target: EmbeddedCluster,
    pairs: Mapping[TopicPartition, TopicPartition],
    at_least: int,
    log: Path,
) -> Report:
    """Wait for the mirror to catch up, then compare by content."""
    report = compare_when_level(source.bootstrap_servers, target.bootstrap_servers, pairs, PATIENCE_SECONDS)
    assert report.is_equal, f"{report}\n{log.read_text(errors='replace')[-3000:]}"
    assert report.record_count >= at_least
    return report
