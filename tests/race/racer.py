"""A consumer group that stops on one cluster and goes on with another."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import kafka
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from tests.race.load import TransactionalLoad

_LOOK_SECONDS = 0.02
_PATIENCE_SECONDS = 60.0
_AT_ONCE_TO_THE_END = 500

Values = dict[int, list[bytes]]


@dataclass
class Racer:
    """One group with a single member, a stock consumer that commits behind what it has processed.

    It reads committed records only. On the source it takes so many at once, until so much of the load is done, and
    stays behind it by a share of what has been written: 0 is as close as it can, 1 reads nothing at all.
    """

    group: str
    wanted_lag: float
    rests_at: float
    at_once: int
    lag: float = 1.0  # when it stopped
    on_source: Values = field(default_factory=dict)
    on_target: Values = field(default_factory=dict)
    rested_at: float = 0.0

    def begin(self, cluster: EmbeddedCluster, topic: str, load: TransactionalLoad) -> None:
        """Consume beside the load for a while, then leave and be at rest."""
        pause = threading.Event()
        with self._consumer(cluster, topic, self.at_once) as consumer:
            while load.progress < self.rests_at:
                if _count(self.on_source) < load.written * (1 - self.wanted_lag):
                    _process_some(consumer, self.on_source)
                else:
                    pause.wait(_LOOK_SECONDS)
            self.lag = 1 - _count(self.on_source) / load.written
        self.rested_at = time.monotonic()

    def go_on(self, cluster: EmbeddedCluster, topic: str) -> None:
        """Consume from where the group stands to the end of the topic."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self._consumer(cluster, topic, _AT_ONCE_TO_THE_END) as consumer:
            ends: dict[kafka.TopicPartition, int] = {}
            while not ends or any(consumer.position(where) < end for where, end in ends.items()):
                assert time.monotonic() < deadline, self._standing(consumer)
                _process_some(consumer, self.on_target)
                ends = ends or consumer.end_offsets(consumer.assignment())

    def _standing(self, consumer: KafkaConsumer) -> str:
        return f"{self.group}: read only {_count(self.on_target)} on the target, of {consumer.assignment()}"

    @contextmanager
    def _consumer(self, cluster: EmbeddedCluster, topic: str, at_once: int) -> Iterator[KafkaConsumer]:
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            max_poll_records=at_once,
            fetch_max_wait_ms=250,
        )
        with closing(consumer):
            # A stock Python consumer that joins before it knows the topic may be left without partitions for good.
            assert consumer.partitions_for_topic(topic)
            yield consumer


def _process_some(consumer: KafkaConsumer, seen: Values) -> None:
    found = consumer.poll(100)
    for where, records in found.items():
        seen.setdefault(where.partition, []).extend(record.value for record in records)
    if found:
        consumer.commit()


def _count(values: Values) -> int:
    return sum(map(len, values.values()))


@dataclass(frozen=True)
class Outcome:
    """What a racer has done of what it should: every record once, in the order of its partition."""

    racer: Racer
    skipped: int
    repeated: int
    is_exact: bool
    seconds: float | None  # from its rest on the source until its offsets on the target were right, and stayed so

    @property
    def counts(self) -> tuple[int, int]:
        """How many records it has processed on the source and on the target."""
        return _count(self.racer.on_source), _count(self.racer.on_target)


def judge(racer: Racer, kept: Mapping[int, Sequence[bytes]], seconds: float | None) -> Outcome:
    """Compare what a racer has processed on both clusters with what there was."""
    skipped = repeated = 0
    is_exact = True
    for partition, wanted in kept.items():
        seen = racer.on_source.get(partition, []) + racer.on_target.get(partition, [])
        times = Counter(seen)
        skipped += sum(value not in times for value in wanted)
        repeated += sum(count - 1 for count in times.values())
        is_exact &= seen == list(wanted)
    return Outcome(racer, skipped, repeated, is_exact, seconds)
