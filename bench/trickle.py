"""A trickle over many partitions: how late records arrive, and what mirror, brokers and books spend on each of them."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import settings
from bench.internal_topics import Kind, kind_of
from bench.latency import write_birth
from bench.log_sizes import LogSizes, appended, log_sizes
from bench.measure import LatencyConsumer, TargetView
from bench.rivals import Heliograph, RealMirrorMaker2, Rival
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.ports import free_ports
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import opened
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition

RATE = 200  # records per second, over all partitions
PARTITIONS = 20
RECORD_BYTES = 100  # key and value
LANES = 1  # of all contestants: the default of tasks.max
SECONDS = 60.0
WARM_UP_SECONDS = 40.0  # the first records of a new flow are late for about 25 s
_START_SECONDS = 180.0
_LATE_SECONDS = 60.0
_NANOSECONDS = 1_000_000_000


@dataclass(frozen=True)
class Contestant:
    """A mirror with settings of its own."""

    name: str
    rival: Callable[[dict[str, str], Path], Rival]


def _heliograph(base: dict[str, str], folder: Path) -> Rival:
    return Heliograph(settings.heliograph(base), folder)


def _by_sequences(base: dict[str, str], folder: Path) -> Rival:
    return Heliograph(settings.heliograph(base) | {"exactly.once.commit": "sequences"}, folder)


def _lingering(base: dict[str, str], folder: Path) -> Rival:
    return RealMirrorMaker2(settings.mirrormaker2(base, "none"), folder)


def _eager(base: dict[str, str], folder: Path) -> Rival:
    return RealMirrorMaker2(settings.eager(settings.mirrormaker2(base, "none")), folder)


def _exactly_once(base: dict[str, str], folder: Path) -> Rival:
    [port] = free_ports(1)
    return RealMirrorMaker2(settings.exactly_once(settings.mirrormaker2(base, "none"), port), folder)


CONTESTANTS = (
    Contestant("Heliograph", _heliograph),
    Contestant("Heliograph, sequences", _by_sequences),
    Contestant("MirrorMaker 2, linger.ms 5", _lingering),
    Contestant("MirrorMaker 2, linger.ms 0", _eager),
    Contestant("MirrorMaker 2, exactly once", _exactly_once),
)


@dataclass(frozen=True)
class Look:
    """What has been spent until a moment, which is in ns since 1970."""

    at: int
    mirror_seconds: float
    broker_seconds: float
    source: LogSizes
    target: LogSizes


@dataclass(frozen=True)
class Trickle:
    """One contestant's steady period. Latency in ms, shares of one core, bytes that internal topics have grown by."""

    p50: float
    p90: float
    p99: float
    longest: float
    mirror_share: float
    broker_share: float
    written_per_second: float
    arrived: int
    source_bytes: Mapping[str, int]
    target_bytes: Mapping[str, int]

    @classmethod
    def between(cls, before: Look, after: Look, births: Collection[int], arrivals: Mapping[int, int]) -> Trickle:
        """Of two looks, the birth times of all records, and when each arrived.

        Latency is that of the records born between the looks. Bytes are shared among those that arrived between
        them, since it is for these that they were written.
        """
        seconds = (after.at - before.at) / _NANOSECONDS
        born = [birth for birth in births if before.at <= birth < after.at]
        ages = sorted((arrivals[birth] - birth) / 1e6 for birth in born)
        return cls(
            percentile(ages, 0.5), percentile(ages, 0.9), percentile(ages, 0.99), ages[-1],
            (after.mirror_seconds - before.mirror_seconds) / seconds,
            (after.broker_seconds - before.broker_seconds) / seconds,
            len(born) / seconds,
            sum(before.at <= arrival < after.at for arrival in arrivals.values()),
            _internal(appended(before.source, after.source)),
            _internal(appended(before.target, after.target)),
        )  # fmt: skip

    def bytes_per_record(self, kind: Kind) -> float:
        """Appended to internal topics of this kind on the target, for each mirrored record."""
        return sum(size for topic, size in self.target_bytes.items() if kind_of(topic) is kind) / self.arrived

    @property
    def source_bytes_per_record(self) -> float:
        """Appended to internal topics on the source, where MirrorMaker 2 keeps its offset syncs by default."""
        return sum(self.source_bytes.values()) / self.arrived

    def __str__(self) -> str:
        books = ", ".join(f"{kind.value} {self.bytes_per_record(kind):,.0f}" for kind in Kind)
        return (
            f"latency p50 {self.p50:.2f} p90 {self.p90:.2f} p99 {self.p99:.2f} longest {self.longest:.2f} ms; share of "
            f"a core: mirror {self.mirror_share:.2f}, target's broker {self.broker_share:.2f}; internal bytes per "
            f"record: {books}, on the source {self.source_bytes_per_record:,.0f}; {self.arrived:,} records, "
            f"{self.written_per_second:.0f} written each second"
        )


def percentile(ascending: Sequence[float], share: float) -> float:
    """The value that this share of all values lies below."""
    return ascending[min(int(len(ascending) * share), len(ascending) - 1)]


def _internal(sizes: Mapping[str, int]) -> dict[str, int]:
    return {topic: size for topic, size in sizes.items() if kind_of(topic)}


def in_turn(number: int) -> Sequence[Contestant]:
    """All contestants in the order of a round: every other one backwards, so that none is always the last."""
    return CONTESTANTS[::-1] if number % 2 else CONTESTANTS


@dataclass(frozen=True)
class Course:
    """Where all contestants run, and for how long."""

    source: EmbeddedCluster
    target: EmbeddedCluster
    folder: Path
    seconds: float = SECONDS
    warm_up_seconds: float = WARM_UP_SECONDS

    def rounds(self, count: int, say: Callable[[str], None]) -> dict[str, list[Trickle]]:
        """The results of each contestant. Brokers are warm after round 0, which does not count."""
        results: dict[str, list[Trickle]] = {contestant.name: [] for contestant in CONTESTANTS}
        for number in range(count + 1):
            for contestant in in_turn(number):
                result = self._run(contestant, f"trickle-{number}-{CONTESTANTS.index(contestant)}")
                say(f"(r) round {number} {contestant.name}: {result}")
                if number:
                    results[contestant.name].append(result)
        return results

    def _run(self, contestant: Contestant, topic: str) -> Trickle:
        """A topic of its own for each, so that nobody has to catch up with what another one has done."""
        with Admin(_access(self.source)) as admin:
            admin.create_topics([NewTopic(topic, PARTITIONS, 1, {})])
            assert not admin.wait_for_topics({topic: PARTITIONS}, patience=60)
        base = settings.common(self.source, self.target, topic, LANES)
        rival = contestant.rival(base, Path(tempfile.mkdtemp(dir=self.folder)))
        with trickling(self.source, topic) as births, rival:
            return self._measured(rival, f"primary.{topic}", births)

    def _measured(self, rival: Rival, remote: str, births: Sequence[int]) -> Trickle:
        """Records come at the same rate before, during and after, so what spills over both edges is the same."""
        _await_first(rival, self.target, remote)
        consumer = LatencyConsumer(self.target, remote, PARTITIONS)
        consumer.start()
        try:
            time.sleep(self.warm_up_seconds)
            before = self._look(rival)
            time.sleep(self.seconds)
            after = self._look(rival)
            born = [birth for birth in tuple(births) if before.at <= birth < after.at]
            _await_all(rival, born, consumer)
        finally:
            consumer.stop()
        return Trickle.between(before, after, born, consumer.first_arrivals())

    def _look(self, rival: Rival) -> Look:
        now, mirror, broker = time.time_ns(), rival.usage().cpu_seconds, _broker_seconds(self.target)
        return Look(now, mirror, broker, log_sizes(self.source), log_sizes(self.target))


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, [cluster.bootstrap_servers])


def _broker_seconds(cluster: EmbeddedCluster) -> float:
    spent = [psutil.Process(node.process.pid).cpu_times() for node in cluster.nodes]
    return float(sum(times.user + times.system for times in spent))


def _await_first(rival: Rival, target: EmbeddedCluster, remote: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    with closing(TargetView(target, remote)) as view:
        while not view.committed():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{rival.name}: nothing arrives within {_START_SECONDS:.0f} s")
            time.sleep(0.2)


def _await_all(rival: Rival, born: Sequence[int], consumer: LatencyConsumer) -> None:
    """Records that are later than everybody waits for would make the longest latency look short."""
    deadline = time.monotonic() + _LATE_SECONDS
    while missing := set(born) - consumer.first_arrivals().keys():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{rival.name}: {len(missing)} of {len(born)} records have not arrived")
        time.sleep(0.2)


@contextmanager
def trickling(source: EmbeddedCluster, topic: str) -> Iterator[Sequence[int]]:
    """Records at a steady rate meanwhile; yields their birth times, which grow."""
    births: list[int] = []
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(_trickle, source, topic, births, is_over)
        try:
            yield births
        finally:
            is_over.set()
        writing.result()  # raises what went wrong there


def _trickle(source: EmbeddedCluster, topic: str, births: list[int], is_over: threading.Event) -> None:
    with opened(_access(source), [topic]) as (loop, network):
        began = time.monotonic()
        while not is_over.wait(max(0.0, began + len(births) / RATE - time.monotonic())):
            where = TopicPartition(topic, len(births) % PARTITIONS)
            births.append(write_birth(loop, network, where, RECORD_BYTES))
