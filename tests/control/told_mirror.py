"""One mirror with a flow for each test, which does as the tests tell it, and who tells."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from heliograph.config.mirror_config import load
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.kafka import reading
from heliograph.kafka.access import Access
from heliograph.kafka.network import opened
from heliograph.kafka.reading import EARLIEST
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition
from tests.chaos.load import Load
from tests.chaos.stage import PATIENCE_SECONDS, admin_of, await_growth, copies, ends, expect_equal, write_settings
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

TARGET = "backup"
PARTITIONS = 2
SOON = 2.0  # seconds within which a pause or its end must act

_TRIES = 5
_PER_SECOND = 200
_OPTIONS = {
    "tasks.max": "1",
    "refresh.topics.interval.seconds": "3600",  # so that what is noticed was not waited for
    "heartbeats.replication.enabled": "false",  # other tests may have left some on the clusters
    "heartbeats.topic.replication.factor": "1",
    "config.storage.replication.factor": "1",
    "checkpoints.topic.replication.factor": "1",
    "offset-syncs.topic.replication.factor": "1",
}


class Way:
    """One flow with two topics, of which the file names the first."""

    def __init__(self, source: EmbeddedCluster, target: EmbeddedCluster, prefix: str) -> None:
        self.source, self.target = source, target
        self.alias = fresh_name(prefix)
        self.name = f"{self.alias}->{TARGET}"
        self.topic, self.other = fresh_name("first"), fresh_name("second")
        with admin_of(source) as admin:
            admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (self.topic, self.other)])

    def load(self, topic: str = "") -> Load:
        """Records from now on; of the first topic if no other is named."""
        return Load(self.source.bootstrap_servers, topic or self.topic, PARTITIONS, per_second=_PER_SECOND)

    def copy(self, topic: str) -> str:
        """What the topic is called on the target."""
        return f"{self.alias}.{topic}"

    def await_growth(self) -> None:
        """Wait until records of the first topic arrive."""
        await_growth(self.target, self.copy(self.topic))

    def ends(self) -> dict[TopicPartition, int]:
        """Where the copy of the first topic ends."""
        return ends(self.target, self.copy(self.topic))

    def written(self) -> int:
        """How many records the first topic has."""
        return sum(ends(self.source, self.topic).values())

    def counts(self) -> dict[int, int]:
        """How many records each partition of the copy holds."""
        copy = self.copy(self.topic)
        access = Access(TARGET, self.target.bootstrap_servers.split(","))
        with opened(access, [copy]) as (loop, network):
            starts = reading.list_offsets(network, copy, dict.fromkeys(range(PARTITIONS), EARLIEST))
            found = Counter(number for number, _ in reading.read_to_end(loop, network, copy, starts))
        return {number: found[number] for number in range(PARTITIONS)}

    def place(self, partition: int) -> dict[str, Any]:
        """A source partition as Connect names it."""
        return {"cluster": self.alias, "partition": partition, "topic": self.topic}

    def expect_standstill(self, load: Load) -> dict[TopicPartition, int]:
        """Nothing arrives while a second's records are written; where the copy ends."""
        rest, before = self.ends(), load.acknowledged
        wait_until(lambda: load.acknowledged >= before + _PER_SECOND, "more records on the source")
        assert self.ends() == rest
        return rest


class ToldMirror:
    """The mirror of all ways, in this process."""

    def __init__(self, ways: Sequence[Way], folder: Path, options: Mapping[str, str]) -> None:
        self.file, self._log = folder / "mm2.properties", folder / "log"
        self._log.touch()
        topics = {f"{way.name}.topics": way.topic for way in ways}
        clusters = {**{way.alias: way.source for way in ways}, TARGET: ways[0].target}
        write_settings(self.file, clusters, [way.name for way in ways], {**_OPTIONS, **topics, **options})
        self.mirror = RunningMirror(load(self.file))

    def start(self) -> None:
        """Start it, and wait until all flows are its own."""
        self.mirror.start()
        wait_until(lambda: self.mirror.is_ready, "flows that are ours", PATIENCE_SECONDS)

    def restart(self) -> None:
        """Stop it, and start another one of the same file."""
        self.stop()
        self.mirror = RunningMirror(load(self.file))
        self.start()

    def stop(self) -> None:
        """Let it end."""
        self.mirror.stop()

    def flow(self, way: Way) -> RunningFlow:
        """The flow of a way."""
        return self.mirror.flow(way.name)

    def driver(self, way: Way) -> FlowDriver:
        """What mirrors its records."""
        driver = self.flow(way).driver
        assert driver is not None
        return driver

    def expect_rest(self, way: Way) -> None:
        """After a flow was told to pause or stop: its lanes commit what they have, and end."""
        assert self.driver(way).await_rest(PATIENCE_SECONDS)

    def expect_equal(self, way: Way, topic: str, at_least: int) -> None:
        """Both sides hold the same records."""
        expect_equal(way.source, way.target, copies(topic, way.copy(topic), PARTITIONS), at_least, self._log)

    def expect_quick_rest(self, way: Way, pause: Callable[[], object], resume: Callable[[], object]) -> None:
        """The lanes of a flow that is told to hold still end soon."""

        def until_it_rests() -> None:
            pause()
            self.expect_rest(way)

        def until_it_moves() -> None:
            resume()
            way.await_growth()

        _expect_soon(until_it_rests, until_it_moves)

    def expect_quick_resumption(self, way: Way, resume: Callable[[], object], pause: Callable[[], object]) -> None:
        """A flow that holds still copies soon after it is told to."""

        def until_it_moves() -> None:
            rest = way.ends()
            resume()
            assert self.driver(way).is_active  # it does not wait for any look at what was written down
            wait_until(lambda: way.ends() != rest, "records again", PATIENCE_SECONDS)

        def until_it_rests() -> None:
            pause()
            self.expect_rest(way)

        _expect_soon(until_it_moves, until_it_rests)


def _expect_soon(act: Callable[[], None], undo: Callable[[], None]) -> None:
    """Of a few tries one must be quick: a machine with other work delays any of them, but hardly all."""
    times: list[float] = []
    while len(times) < _TRIES:
        began = time.monotonic()
        act()
        times.append(time.monotonic() - began)
        if times[-1] < SOON:
            return
        if len(times) < _TRIES:
            undo()
    raise AssertionError(f"took {times} s, never less than {SOON} s")
