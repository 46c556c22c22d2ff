"""Flows between several clusters, run one after the other by lanes until nothing is left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from heliograph.config.mirror_config import MirrorConfig, load
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka import writing
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.records import Record
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.stage import admin_of, ends, write_settings
from tests.flows.transform_stage import contents
from tests.sync.moving import Moving

Contents = dict[str, Counter[bytes]]  # values of the records of each topic
_MOST_ROUNDS = 6


class Rounds:
    """Clusters by their aliases, and the flows of a file."""

    def __init__(
        self, folder: Path, clusters: Mapping[str, EmbeddedCluster], flows: Sequence[str], options: Mapping[str, str]
    ) -> None:
        self.clusters = clusters
        self.file = folder / "mm2.properties"
        write_settings(self.file, clusters, flows, {"heartbeats.replication.enabled": "false", **options})
        self._moving = Moving(self.file, load(self.file), "", "", "")

    @property
    def config(self) -> MirrorConfig:
        """The file, read."""
        return self._moving.config

    def create(self, topic: str, aliases: Iterable[str] = (), settings: Mapping[str, str] | None = None) -> None:
        """A topic on some clusters, or all."""
        for alias in aliases or self.clusters:
            with admin_of(self.clusters[alias]) as admin:
                admin.create_topics([NewTopic(topic, 1, 1, dict(settings or {}))])
                admin.wait_for_topics({topic: 1})

    def write(self, alias: str, topic: str, records: Sequence[Record]) -> None:
        """Append records in one batch, by nobody in particular."""
        cluster = self.clusters[alias]
        with opened(Access(alias, cluster.bootstrap_servers.split(",")), [topic]) as (loop, network):
            writing.append(loop, network, TopicPartition(topic, 0), records)

    def mirror(self, *names: str, lane: str = "") -> None:
        """Run these flows, or all, each until it has read all that was there when it began; by a lane of that name."""
        for flow in self.config.flows:
            if flow.enabled and (not names or flow.name in names):
                self._moving.mirror(flow, lane=lane)

    def end(self, alias: str, topic: str) -> int:
        """The offset that the next record of a topic gets."""
        return ends(self.clusters[alias], topic)[TopicPartition(topic, 0)]

    def mirror_until_quiet(self, mine: str) -> dict[str, Contents]:
        """Run all flows until a round changes nothing in the topics whose names hold a text; what they have then."""
        before = None
        for _ in range(_MOST_ROUNDS):
            self.mirror()
            now = {alias: self.contents(alias, mine) for alias in self.clusters}
            if now == before:
                return now
            before = now
        raise AssertionError(f"no end after {_MOST_ROUNDS} rounds: {before}")

    def contents(self, alias: str, mine: str) -> Contents:
        """The values of all records, by topic."""
        with admin_of(self.clusters[alias]) as admin:
            topics = [name for name in admin.topics() if mine in name]
        cluster = self.clusters[alias]
        return {name: Counter(record.value or b"" for record in contents(cluster, name)) for name in topics}


def values(*texts: str) -> list[Record]:
    """Records of one batch."""
    return [Record(0, 1_700_000_000_000, text.encode(), text.encode()) for text in texts]
