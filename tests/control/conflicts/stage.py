"""Decisions made up for tests, and clusters whose topic of decisions holds just these."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heliograph.conflicts.candidate import Candidate
from heliograph.conflicts.conflict import Conflict
from heliograph.conflicts.decision import TOPIC, Decision, encode_decision
from heliograph.conflicts.resolvers.resolution import Resolution
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.fetching import READ_COMMITTED
from heliograph.kafka.producing import Batch
from heliograph.kafka.reading import LATEST, list_offsets
from heliograph.kafka.records import Record
from heliograph.kafka.transaction import TransactionalProducer
from heliograph.model import TopicPartition
from tests.chaos.stage import admin_of, write_settings
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.topics import create_topic

WHERE = TopicPartition(TOPIC, 0)
WINDOW_MS = 5_000
_TIMEOUT_MS = 60_000


def now() -> int:
    return int(time.time() * 1000)


def decided(
    at_ms: int,
    key: bytes = b"order-7",
    *,
    on: str = "eu",
    topic: str = "orders",
    values: Sequence[bytes | None] = (b"one", b"two"),
    origins: Sequence[str] = ("eu", "us"),
    winner: int | None = 1,
    written_ms: int | None = None,
    rule: str = "last-writer-wins",
) -> Decision:
    """A decision as the cluster `on` makes it: records of the origins, 300 ms apart; `winner` is the place of one."""
    first = (at_ms - 8_000) if written_ms is None else written_ms
    candidates = tuple(
        Candidate(origin, topic, topic if origin == on else f"{origin}.{topic}", 0, 40 + n, first + 300 * n, key, value)
        for n, (origin, value) in enumerate(zip(origins, values, strict=True))
    )
    won = None if winner is None else candidates[winner]
    resolution = Resolution(won, b"merged" if won is None else won.value, rule)
    return Decision.made(Conflict(candidates, WINDOW_MS), resolution, at_ms, topic)


@dataclass(frozen=True)
class DecisionTopic:
    """The topic of one cluster."""

    cluster: EmbeddedCluster

    def write(self, *decisions: Decision, commit: bool = True) -> None:
        """One transaction."""
        written = [(item.decided_at_ms, item.conflict.key, encode_decision(item)) for item in decisions]
        self.write_raw(written, commit=commit)

    def write_raw(self, written: Sequence[tuple[int, bytes, bytes]], commit: bool = True) -> None:
        """One transaction of times, keys and values."""
        with self.pending(written) as producer:
            producer.end(commit)
        self.await_end()

    def await_end(self) -> None:
        """Wait until readers see that no transaction is open: brokers mark its end a little after they say so."""
        with raw.network(self.cluster.bootstrap_servers, TOPIC) as (_, network):

            def is_over() -> bool:
                ends = [list_offsets(network, TOPIC, {0: LATEST}, isolation) for isolation in (0, READ_COMMITTED)]
                return ends[0] == ends[1]

            wait_until(is_over, "the end of a transaction", 20, 0.01)

    @contextmanager
    def pending(self, written: Sequence[tuple[int, bytes, bytes]]) -> Iterator[TransactionalProducer]:
        """A transaction that is still open."""
        with raw.network(self.cluster.bootstrap_servers, TOPIC) as (loop, network):
            producer = TransactionalProducer(network, "decides", _TIMEOUT_MS)
            producer.join([WHERE])
            records = [Record(n, *each) for n, each in enumerate(written)]
            sequence = producer.sequences.take(WHERE, len(records))
            data = raw.batch_of(records, stamp=producer.stamp, sequence=sequence)
            [appended] = raw.send(loop, network, [Batch(*WHERE, data)], producer)
            assert appended.error_code == 0
            yield producer


@contextmanager
def decision_topic(cluster: EmbeddedCluster) -> Iterator[DecisionTopic]:
    """A new topic under the name that all share; it is gone at the end."""
    remove(cluster)
    create_topic(cluster.bootstrap_servers, TOPIC)
    try:
        yield DecisionTopic(cluster)
    finally:
        remove(cluster)


def remove(cluster: EmbeddedCluster) -> None:
    """Delete the topic, if there is one."""
    with admin_of(cluster) as admin:
        admin.delete_topics([TOPIC])
        wait_until(lambda: TOPIC not in admin.topics([TOPIC]), "the topic of decisions to be gone")


def write_file(
    folder: Path, clusters: Sequence[EmbeddedCluster], options: dict[str, str] | None = None, topics: str = "orders"
) -> Path:
    """A file for `eu` and `us` that mirror each other; empty topics: no detection."""
    file = folder / "mm2.properties"
    more = {"conflicts.topics": topics} if topics else {}
    quiet = {"emit.heartbeats.enabled": "false", "heartbeats.replication.enabled": "false"}
    pairs = dict(zip(("eu", "us"), clusters, strict=True))
    write_settings(file, pairs, ["eu->us", "us->eu"], {**quiet, **more, **(options or {})})
    return file
