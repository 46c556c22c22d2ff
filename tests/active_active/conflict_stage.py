"""Two clusters that both take writes: what is decided about their conflicts, and what should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from heliograph.conflicts import decision
from heliograph.conflicts.bounds import Bounds
from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import Decision, Essence, decode_decision
from heliograph.conflicts.resolvers.catalogue import make_resolver
from heliograph.conflicts.resolvers.settling import settle
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import positions, reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.kafka.writer import Writer
from heliograph.model import TopicPartition
from heliograph.transforms.message import Header
from tests.active_active.conflict_load import ConflictLoad
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import admin_of, write_settings
from tests.conflicts.model import settled_of
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

PARTITIONS = 3
WINDOW_MS = 5_000
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_RULE = "conflicts."
_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "refresh.topics.interval.seconds": "1",
    "tasks.max": "1",
    "offset.storage.partitions": "3",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "emit.checkpoints.enabled": "false",
}


class Crossing:
    """Two clusters under aliases of their own, mirrored both ways, with detection on both."""

    def __init__(self, clusters: Sequence[EmbeddedCluster], options: Mapping[str, str] | None = None) -> None:
        self.clusters = dict(zip((fresh_name("east"), fresh_name("west")), clusters, strict=True))
        self.aliases = tuple(self.clusters)
        self.topics: list[str] = []
        chosen = {"conflicts.output": "{topic}.resolved", **(options or {})}
        self.rule = {name: value for name, value in chosen.items() if name.startswith(_RULE)}
        self._policy = {name: value for name, value in chosen.items() if not name.startswith(_RULE)}

    @property
    def flows(self) -> list[str]:
        """To and fro."""
        one, other = self.aliases
        return [f"{one}->{other}", f"{other}->{one}"]

    def settings(self) -> dict[str, str]:
        """What the file says of these flows and of detection."""
        topics = ",".join(self.topics)
        rule, policy = {**self.rule, "conflicts.topics": topics}, {**self._policy, "topics": topics}
        return {
            **{f"{alias}.{name}": value for alias in self.aliases for name, value in rule.items()},
            **{f"{flow}.{name}": value for flow in self.flows for name, value in policy.items()},
        }


class ConflictSite:
    """The mirror of a crossing, which is ended and started again."""

    def __init__(self, folder: Path, crossing: Crossing) -> None:
        self.file = folder / "mm2.properties"
        self.faults = folder / "faults"
        self._lives = 0
        self._mirror: MirrorProcess | None = None
        write_settings(self.file, crossing.clusters, crossing.flows, {**_OPTIONS, **crossing.settings()})

    def start(self) -> None:
        """`heliograph run` of the file."""
        self._lives += 1
        log = self.file.with_name(f"mirror-{self._lives}.log")
        self._mirror = MirrorProcess(self.file, log, self.faults)

    def stop(self) -> int:
        """End the mirror as a user does; its exit code."""
        assert self._mirror is not None
        return self._mirror.stop()

    def kill(self) -> None:
        """End all processes at once."""
        if self._mirror is not None:
            self._mirror.kill()


class ConflictStage:
    """A topic on both clusters of a crossing; it must be there before the mirror starts."""

    def __init__(self, crossing: Crossing) -> None:
        self._crossing = crossing
        self.clusters, self.aliases = crossing.clusters, crossing.aliases
        self.topic = fresh_name("orders")
        self.view = f"{self.topic}.resolved"
        self._read: dict[tuple[str, str], _Read] = {}
        crossing.topics.append(self.topic)
        for cluster in self.clusters.values():
            with admin_of(cluster) as admin:
                admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)])
                admin.wait_for_topics({self.topic: PARTITIONS})

    @contextmanager
    def load(self, per_second: int, chance: Random) -> Iterator[ConflictLoad]:
        """Two writers, one on each cluster."""
        with ExitStack() as stack:
            lines = {alias: stack.enter_context(closing(self._writer(alias))) for alias in self.aliases}
            writers = {alias: partial(self._append, line) for alias, line in lines.items()}
            yield stack.enter_context(ConflictLoad(writers, per_second, WINDOW_MS, chance))

    def write(self, alias: str, records: Sequence[Record]) -> None:
        """Append records to the topic of a cluster, each to the partition of its key."""
        with closing(self._writer(alias)) as line:
            self._append(line, records)

    def _writer(self, alias: str) -> Writer:
        return Writer(_access(self.clusters[alias]))

    def _append(self, line: Writer, records: Sequence[Record]) -> None:
        by_partition: dict[int, list[Record]] = {}
        for record in records:
            by_partition.setdefault(positions.partition_for(record.key or b"", PARTITIONS), []).append(record)
        for number, some in by_partition.items():
            line.append(TopicPartition(self.topic, number), some)

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
        resolver, bounds = make_resolver(self._crossing.rule), Bounds(WINDOW_MS)
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
        """All committed records of a topic with their partitions; nothing while there is no such topic.

        Only what is new since the last time is read.
        """
        known = self._read.setdefault((alias, topic), _Read())
        with opened(_access(self.clusters[alias])) as (loop, network):
            if network.look_up([topic]):
                return []
            network.refresh([topic])
            firsts = reading.list_offsets(network, topic, dict.fromkeys(network.partitions(topic), reading.EARLIEST))
            starts = {number: max(first, known.next_offsets.get(number, 0)) for number, first in firsts.items()}
            for number, record in reading.read_to_end(loop, network, topic, starts):
                known.records.append((number, record))
                known.next_offsets[number] = record.offset + 1
        return known.records


class _Read:
    """What was read of a topic so far."""

    def __init__(self) -> None:
        self.records: list[tuple[int, Record]] = []
        self.next_offsets: dict[int, int] = {}


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, cluster.bootstrap_servers.split(","))
