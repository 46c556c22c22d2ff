"""Two clusters that are both written to, the mirror between them, and what it makes of conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from heliograph.conflicts import decision
from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import Decision, Essence, decode_decision
from heliograph.conflicts.resolvers.catalogue import make_resolver
from heliograph.conflicts.resolvers.settling import settle
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, reading, writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from heliograph.transforms.message import Header
from tests.active_active.conflict_load import ConflictLoad
from tests.chaos.mirror_process import MirrorProcess, MirrorRuns
from tests.chaos.stage import admin_of, write_settings
from tests.conflicts.model import settled_of
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 3
WINDOW_MS = 5_000
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "refresh.topics.interval.seconds": "1",
    "tasks.max": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "emit.checkpoints.enabled": "false",
}


class ConflictStage:
    """A topic on both clusters, mirrored both ways, with detection on both."""

    def __init__(
        self, clusters: Sequence[EmbeddedCluster], folder: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self.clusters = dict(zip((fresh_name("east"), fresh_name("west")), clusters, strict=True))
        self.aliases = tuple(self.clusters)
        self.topic = fresh_name("orders")
        self.view = f"{self.topic}.resolved"
        self.file = folder / "mm2.properties"
        self.faults = folder / "faults"
        self.faults.mkdir()
        self._runs = MirrorRuns(self.file, self.faults)
        one, other = self.aliases
        chosen = {
            "topics": self.topic, "conflicts.topics": self.topic, "conflicts.output": "{topic}.resolved",
            **_OPTIONS, **(options or {}),
        }  # fmt: skip
        self._rule = {name: value for name, value in chosen.items() if name.startswith("conflicts.")}
        write_settings(self.file, self.clusters, [f"{one}->{other}", f"{other}->{one}"], chosen)
        for cluster in clusters:
            with admin_of(cluster) as admin:
                admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])
                admin.wait_for_topics({self.topic: PARTITIONS})

    def mirror(self) -> AbstractContextManager[MirrorProcess]:
        """`heliograph run` of the file."""
        return self._runs.one()

    def load(self, per_second: int, seed: int) -> ConflictLoad:
        """Two writers, one on each cluster."""
        return ConflictLoad({alias: partial(self.write, alias) for alias in self.aliases}, per_second, WINDOW_MS, seed)

    def write(self, alias: str, records: Sequence[Record]) -> None:
        """Append records to the topic of a cluster, each to the partition of its key."""
        by_partition: dict[int, list[Record]] = {}
        for record in records:
            by_partition.setdefault(positions.partition_for(record.key or b"", PARTITIONS), []).append(record)
        with opened(_access(self.clusters[alias]), [self.topic]) as (loop, network):
            for number, some in by_partition.items():
                writing.append(loop, network, TopicPartition(self.topic, number), some)

    # -- what was written -----------------------------------------------------------------------------------------

    def written(self, candidates: Iterable[str] | None = None) -> list[Candidate]:
        """Every record that somebody has written himself, by where."""
        return [
            Candidate(alias, self.topic, self.topic, number, record.offset, record.timestamp, record.key or b"",
                      record.value, tuple(Header(*header) for header in record.headers))
            for alias in candidates or self.aliases
            for number, record in self.contents(alias, self.topic)
        ]  # fmt: skip

    def expected(self, written: Iterable[Candidate]) -> Counter[Essence]:
        """What must be decided about these records, by comparing all of them with all others."""
        resolver, bounds = make_resolver(self._rule), Bounds(WINDOW_MS)
        by_key: dict[bytes, list[Candidate]] = {}
        for record in written:
            by_key.setdefault(record.key, []).append(record)
        shared = [group for group in by_key.values() if len({record.origin for record in group}) > 1]
        found = (item for group in shared for item in settled_of(group, bounds))
        conflicts = [item for item in found if isinstance(item, Conflict)]
        return Counter(Decision.made(item, settle(resolver, item), 0).essence for item in conflicts)

    # -- what came of it ------------------------------------------------------------------------------------------

    def decisions(self, alias: str) -> list[Decision]:
        """What was decided on a cluster about the topic."""
        found = (decode_decision(record.value or b"") for _, record in self.contents(alias, decision.TOPIC))
        return [item for item in found if item.topic == self.topic]

    def view_of(self, alias: str) -> dict[bytes, bytes | None]:
        """What the view holds on a cluster: the last record of each key."""
        return {record.key or b"": record.value for _, record in self.contents(alias, self.view)}

    def await_decisions(self, count: int, seconds: float = 90) -> None:
        """Wait until so many are there on both clusters."""
        for alias in self.aliases:
            wait_until(lambda a=alias: len(self.decisions(a)) >= count, f"{count} decisions on {alias}", seconds, 0.3)

    def await_view(self, keys: int, seconds: float = 90) -> None:
        """Wait until the views of both clusters hold so many keys."""
        for alias in self.aliases:
            wait_until(
                lambda a=alias: len(self.view_of(a)) >= keys, f"{keys} keys in the view of {alias}", seconds, 0.5
            )

    def contents(self, alias: str, topic: str) -> list[tuple[int, Record]]:
        """All committed records of a topic with their partitions; nothing while there is no such topic."""
        with opened(_access(self.clusters[alias])) as (loop, network):
            if network.look_up([topic]):
                return []
            network.refresh([topic])
            starts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), reading.EARLIEST))
            return list(reading.read_to_end(loop, network, topic, starts))


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))
