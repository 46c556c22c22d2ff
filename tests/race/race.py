"""A race: groups consume on one cluster, stop at random, and go on with the copy on another, where a mirror put them.

The mirror is whatever keeps a copy and the groups' offsets on the second cluster while its context is open.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path

import kafka
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.access import Access
from tests.chaos.stage import ends, write_settings
from tests.race.load import TransactionalLoad
from tests.race.racer import Outcome, Racer, judge
from tests.race.watch import Watch, right_since
from tests.waiting import wait_until
from tests.zoo.topics import create_topic

PARTITIONS = 4
RACERS = 20
INTERVAL_SECONDS = 1
_ROUNDS = 180
_PATIENCE_SECONDS = 60.0
_SETTLING_SECONDS = 5.0 * INTERVAL_SECONDS
_OPTIONS = {
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": str(INTERVAL_SECONDS),
    "emit.checkpoints.interval.seconds": str(INTERVAL_SECONDS),
    "refresh.groups.interval.seconds": str(INTERVAL_SECONDS),
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
    "heartbeats.topic.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "config.storage.replication.factor": "1",
}

Mirror = Callable[[Path, Path], AbstractContextManager[object]]  # of its settings and a folder
Copy = Mapping[int, Sequence[int]]  # the offsets of all records of each partition


@dataclass(frozen=True)
class RaceResult:
    """How all groups came through."""

    mirror: str
    records: int
    outcomes: Sequence[Outcome]

    @property
    def slowest(self) -> float | None:
        """The longest that any group at rest had to wait for its offsets; None if some never got them."""
        waits = [outcome.seconds for outcome in self.outcomes]
        return None if None in waits else max(wait for wait in waits if wait is not None)

    def __str__(self) -> str:
        slowest = "some never" if self.slowest is None else f"all within {self.slowest:.2f} s"
        skipped, repeated = (sum(getattr(item, name) for item in self.outcomes) for name in ("skipped", "repeated"))
        return "\n".join((
            f"{self.mirror}: {len(self.outcomes)} groups x {self.records} records, {skipped} skipped, "
            f"{repeated} repeated; offsets of groups at rest are right: {slowest}",
            "  group             lag   on A   on B  skipped  repeated  offsets right after",
            *(_row(outcome) for outcome in sorted(self.outcomes, key=lambda item: item.racer.lag)),
        ))  # fmt: skip


def _row(outcome: Outcome) -> str:
    here, there = outcome.counts
    wait = "never" if outcome.seconds is None else f"{outcome.seconds:.2f} s"
    racer = outcome.racer
    return (
        f"  {racer.group:<14} {racer.lag:>6.0%} {here:>6} {there:>6} {outcome.skipped:>8} {outcome.repeated:>9}  {wait}"
    )


class Race:
    """One race over one topic, between aliases of its own, on clusters that others use too."""

    def __init__(self, clusters: Sequence[EmbeddedCluster], folder: Path, alias: str, chance: random.Random) -> None:
        self._source, self._target = clusters
        self._folder = folder
        self._chance = chance
        self._topic = create_topic(self._source.bootstrap_servers, f"{alias}-race", PARTITIONS)
        self._copy = f"{alias}.{self._topic}"
        self._racers = list(_racers(alias, chance))
        self._settings = folder / f"{alias}.properties"
        aliases = (alias, f"{alias}-goal")
        flow = "->".join(aliases)
        options = {
            **_OPTIONS,
            f"{flow}.topics": self._topic,
            f"{flow}.groups": f"{alias}-.*",
            f"{alias}.consumer.isolation.level": "read_committed",
        }
        write_settings(self._settings, dict(zip(aliases, clusters, strict=True)), [flow], options)

    def run(self, name: str, mirror: Mirror) -> RaceResult:
        """From the first record to the last group that has read it."""
        load = TransactionalLoad(self._source.bootstrap_servers, self._topic, PARTITIONS, _ROUNDS, self._chance)
        groups = [racer.group for racer in self._racers]
        with mirror(self._settings, self._folder):
            with Watch(Access("goal", [self._target.bootstrap_servers]), groups, self._copy) as watch:
                with load:
                    wait_until(lambda: any(ends(self._target, self._copy).values()), "the first records", 90, 0.2)
                    load.go_on()
                    self._on_all(lambda racer: racer.begin(self._source, self._topic, load))
                copy = self._await_copy(load.written)
                waits = self._await_offsets(watch, copy)
            self._on_all(lambda racer: racer.go_on(self._target, self._copy))
        outcomes = [judge(racer, load.kept, waits[racer.group]) for racer in self._racers]
        return RaceResult(name, load.written, outcomes)

    def _on_all(self, action: Callable[[Racer], None]) -> None:
        with ThreadPoolExecutor(len(self._racers)) as pool:
            list(pool.map(action, self._racers))

    def _await_copy(self, records: int) -> Copy:
        """Read the copy with a stock consumer until all is there."""
        partitions = [kafka.TopicPartition(self._copy, number) for number in range(PARTITIONS)]
        copy: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
        consumer = KafkaConsumer(
            bootstrap_servers=self._target.bootstrap_servers,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with closing(consumer):
            consumer.assign(partitions)
            while (found := sum(map(len, copy.values()))) < records:
                assert time.monotonic() < deadline, f"only {found} of {records} records arrived"
                for where, some in consumer.poll(100).items():
                    copy[where.partition].extend(record.offset for record in some)
        return copy

    def _await_offsets(self, watch: Watch, copy: Copy) -> dict[str, float | None]:
        """How long each group had to wait; those that are not right by now get some time more, but not for ever."""
        pause = threading.Event()
        deadline = time.monotonic() + _SETTLING_SECONDS
        while None in (waits := self._waits(watch, copy)).values() and time.monotonic() < deadline:
            pause.wait(0.1)
        return waits

    def _waits(self, watch: Watch, copy: Copy) -> dict[str, float | None]:
        waits: dict[str, float | None] = {}
        for racer in self._racers:
            done = {number: len(values) for number, values in racer.on_source.items()}
            since = right_since(watch.history(racer.group), done, copy)
            waits[racer.group] = None if since is None else max(0.0, since - racer.rested_at)
        return waits


def _racers(alias: str, chance: random.Random) -> Iterable[Racer]:
    """Lags from nothing to all, random between; random times of rest, after every group is known to the mirror."""
    lags = [0.0, 1.0, *(chance.random() for _ in range(RACERS - 2))]
    for number, lag in enumerate(lags):
        yield Racer(f"{alias}-{number:02d}", lag, chance.uniform(0.4, 1.0), chance.randint(1, 50))
