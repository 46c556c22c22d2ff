"""A topic on its way through transforms on real brokers, and what arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.mirror_process import MirrorProcess, MirrorRuns
from tests.chaos.stage import admin_of, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 2
OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "offset.storage.partitions": "2",
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.topics.interval.seconds": "1",
    "tasks.max": "1",
}


class TransformStage:
    """Topics of a source, a flow with transforms, and its target."""

    def __init__(
        self,
        source: EmbeddedCluster,
        target: EmbeddedCluster,
        folder: Path,
        options: Mapping[str, str],
        topics: Sequence[str] = ("orders",),
    ) -> None:
        """The options are the flow's own: others in the same mirror have theirs."""
        self.source, self.target = source, target
        self.a, self.b = fresh_name("near"), fresh_name("far")
        self.name = f"{self.a}->{self.b}"
        self.clusters = {self.a: source, self.b: target}
        self._ending = fresh_name("")
        chosen = {"topics": ", ".join(map(self.topic, topics)), **options}
        self.options = {f"{self._place(name)}.{name}": value for name, value in chosen.items()}
        folder.mkdir(exist_ok=True)
        self.file = folder / "mm2.properties"
        self._mirrors = MirrorRuns(self.file)
        write_settings(self.file, self.clusters, [self.name], OPTIONS | self.options)
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(self.topic(name), PARTITIONS, 1) for name in topics])
            admin.wait_for_topics({self.topic(name): PARTITIONS for name in topics})

    def _place(self, option: str) -> str:
        """Whose an option is: converters are the target's."""
        return self.b if option.startswith("value.converter") else self.name

    def topic(self, name: str) -> str:
        """A topic of this stage on the source."""
        return f"{name}{self._ending}"

    def copy(self, name: str) -> str:
        """What the policy calls it on the target."""
        return f"{self.a}.{self.topic(name)}"

    @property
    def dead_letters(self) -> str:
        """Where records end that cannot be transformed."""
        return f"mm2-dead-letters.{self.a}.internal"

    @property
    def flow(self) -> FlowConfig:
        """As the file describes it."""
        found = load(self.file).flow(self.name)
        assert found is not None
        return found

    def mirror(self) -> AbstractContextManager[MirrorProcess]:
        """`heliograph run` of this flow alone."""
        return self._mirrors.one()

    def write(self, name: str, records: Sequence[Record], partition: int = 0) -> None:
        """Append records to a topic of the source, in one batch."""
        topic = self.topic(name)
        with opened(_access(self.source), [topic]) as (loop, network):
            writing.append(loop, network, TopicPartition(topic, partition), records)

    def arrived(self, topic: str, partition: int = 0) -> list[Record]:
        """What a partition of the target holds; nothing while there is no such topic."""
        return contents(self.target, topic, partition)

    def await_arrived(self, topic: str, count: int, partition: int = 0) -> list[Record]:
        """Wait until so many records are there."""
        found: list[Record] = []

        def are_there() -> bool:
            found[:] = self.arrived(topic, partition)
            return len(found) >= count

        wait_until(are_there, f"{count} records in {topic}", 60, 0.2)
        return found


def contents(cluster: EmbeddedCluster, topic: str, partition: int = 0) -> list[Record]:
    """All committed records of a partition."""
    with opened(_access(cluster)) as (loop, network):
        if network.look_up([topic]):
            return []
        starts = reading.list_offsets(network, topic, {partition: reading.EARLIEST})
        return [record for _, record in reading.read_to_end(loop, network, topic, starts)]


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))
