"""Ever more partitions: what planning, idling and a trickle cost, and whether that grows faster than their number."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from bench.latency import write
from bench.measure import LatencyConsumer
from bench.process_kinds import DRIVER, JVM, KINDS, LANES, spent_by_kind
from bench.rivals import Heliograph
from bench.spread_writer import REQUESTS_PER_SECOND, SpreadWriter
from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import load
from heliograph.control.cluster_topics import ClusterTopics
from heliograph.control.flow_settings import flow_settings
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.flow import FlowDriver
from heliograph.errors import BrokerRefused
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.network import opened
from heliograph.kafka.topics import NewTopic
from heliograph.model import TopicPartition

TOPICS = "scale-.*"
SIZES = (125, 250, 500)  # topics
PARTITIONS = 4  # of each
TRICKLE = 2000  # records per second, over all partitions
NOISE = 1.1  # growth by less than this is taken for linear
# A broker with thousands of small logs: nothing is gained by large indexes, and all of it must fit into memory.
BROKER_SETTINGS = {"log.index.size.max.bytes": "65536", "log.segment.bytes": str(64 * 1024 * 1024)}
_PROBE, _NEWCOMER = "scale-probe", "scale-newcomer"
_PROBE_RATE = 100
_CHANGE_SECONDS = 20.0  # in which a new topic is found, and the next epoch begins
_FILL = 50  # records in each partition at the start
_SETTLING_SECONDS = 15.0
_PATIENCE_SECONDS = 300.0
_SAMPLE = 8


@dataclass(frozen=True)
class Scale:
    """What so many partitions cost. Shares are of one core."""

    partitions: int
    take_over_seconds: float
    refresh_seconds: float
    plan_seconds: float
    first_record_seconds: float
    caught_up_seconds: float
    epoch_gap_seconds: float
    idle: Mapping[str, float]
    trickle: Mapping[str, float]
    megabytes: Mapping[str, float]

    @property
    def trickle_rate(self) -> int:
        """Records per second: few partitions get fewer, since a request takes one for each."""
        return min(TRICKLE, REQUESTS_PER_SECOND * self.partitions)

    def __str__(self) -> str:
        return (
            f"{self.partitions:,} partitions: taken over in {self.take_over_seconds:.2f} s, looked for changes in "
            f"{self.refresh_seconds:.2f} s, planned in {self.plan_seconds:.3f} s; process start to first record "
            f"{self.first_record_seconds:.1f} s, to all caught up {self.caught_up_seconds:.1f} s; nothing flowed for "
            f"{self.epoch_gap_seconds:.2f} s between two epochs; share of a core idle {_by_kind(self.idle, '.3f')}, "
            f"at {self.trickle_rate:,} records/s {_by_kind(self.trickle, '.3f')}; MB {_by_kind(self.megabytes, '.0f')}"
        )


def _by_kind(figures: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{kind} {figures[kind]:{form}}" for kind in KINDS)


# What must not grow faster than the number of partitions.
COSTS: Mapping[str, Callable[[Scale], float]] = {
    "take-over": lambda scale: scale.take_over_seconds,
    "look for changes": lambda scale: scale.refresh_seconds,
    "planning": lambda scale: scale.plan_seconds,
    "time to first record": lambda scale: scale.first_record_seconds,
    "time to all caught up": lambda scale: scale.caught_up_seconds,
    "epoch gap": lambda scale: scale.epoch_gap_seconds,
    "driver's processor time, idle": lambda scale: scale.idle[DRIVER],
    "driver's processor time, trickle": lambda scale: scale.trickle[DRIVER],
    "JVM's processor time, trickle": lambda scale: scale.trickle[JVM],
    "lanes' processor time, trickle": lambda scale: scale.trickle[LANES],
    "driver's memory": lambda scale: scale.megabytes[DRIVER],
    "lanes' memory": lambda scale: scale.megabytes[LANES],
}


@dataclass(frozen=True)
class Growth:
    """The cost of one partition at each size."""

    cost: str
    per_partition: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        """Each size over the one before: 1 is linear, less is better."""
        return [after / before if before else 1.0 for before, after in itertools.pairwise(self.per_partition)]

    @property
    def is_linear(self) -> bool:
        """Whether it grows no faster than the number of partitions, but for noise."""
        return all(ratio <= NOISE for ratio in self.ratios)

    def __str__(self) -> str:
        ratios = ", ".join(f"{ratio:.2f} x" for ratio in self.ratios)
        return f"{self.cost} per partition: {ratios}" + ("" if self.is_linear else ": FASTER THAN LINEAR")


def growth(scales: Sequence[Scale]) -> list[Growth]:
    """How each cost of a partition changes from size to size."""
    return [Growth(cost, [pick(scale) / scale.partitions for scale in scales]) for cost, pick in COSTS.items()]


def measure(
    properties: Mapping[str, str],
    folder: Path,
    source: EmbeddedCluster,
    target: EmbeddedCluster,
    topics: int,
    seconds: float,
) -> Scale:
    """Mirror so many topics: a little of everything at first, then nothing, then a trickle, then a new topic."""
    partitions = _create(source, [f"scale-{number:04d}" for number in range(topics)])
    _create(source, [_PROBE])
    with closing(SpreadWriter(source, partitions)) as writer:
        writer.fill(_FILL)
        began = time.monotonic()
        with Heliograph(properties, folder) as mirror, Admin(_access(target)) as admin:
            remote = [TopicPartition(f"primary.{topic}", number) for topic, number in partitions]
            first = _await(admin, remote[:: max(1, len(remote) // _SAMPLE)], any) - began
            caught_up = _await(admin, remote, all) - began
            idle = _shares(mirror, seconds)
            with writer.trickling(TRICKLE):
                trickle = _shares(mirror, seconds)
                gap = _epoch_gap(source, target)
            megabytes = {kind: spent.bytes / 1e6 for kind, spent in spent_by_kind(mirror.pid).items()}
    planning = _planning(_flow(folder, properties))
    return Scale(len(partitions), *planning, first, caught_up, gap, idle, trickle, megabytes)


def _access(cluster: EmbeddedCluster) -> Access:
    return Access(cluster.alias, [cluster.bootstrap_servers])


def _create(source: EmbeddedCluster, names: Sequence[str]) -> list[TopicPartition]:
    with Admin(_access(source)) as admin:
        for start in range(0, len(names), 100):
            admin.create_topics([NewTopic(name, PARTITIONS, 1, {}) for name in names[start : start + 100]])
        assert not admin.wait_for_topics(dict.fromkeys(names, PARTITIONS), patience=120)
    return [TopicPartition(name, number) for name in names for number in range(PARTITIONS)]


def _await(admin: Admin, wanted: Sequence[TopicPartition], how_many: Callable[[Iterator[bool]], bool]) -> float:
    """When any or all of these partitions hold everything that was written at first."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not how_many(end >= _FILL for end in _ends(admin, wanted)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not everything is copied after {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0.1)
    return time.monotonic()


def _ends(admin: Admin, wanted: Sequence[TopicPartition]) -> Sequence[int]:
    """Where partitions end for readers of what is committed; nowhere while some are missing."""
    topics = {where.topic for where in wanted}
    if len(admin.topics(topics)) < len(topics):
        return [0]
    try:
        return list(admin.stable_offsets(wanted).values())
    except BrokerRefused:  # some have no leader yet
        return [0]


def _shares(mirror: Heliograph, seconds: float) -> dict[str, float]:
    """Of one core, when all has settled."""
    time.sleep(_SETTLING_SECONDS)
    began, before = time.monotonic(), spent_by_kind(mirror.pid)
    time.sleep(seconds)
    after, passed = spent_by_kind(mirror.pid), time.monotonic() - began
    return {kind: (after[kind].cpu_seconds - before[kind].cpu_seconds) / passed for kind in KINDS}


def _epoch_gap(source: EmbeddedCluster, target: EmbeddedCluster) -> float:
    """The age of the oldest record on its arrival while a new topic ends one epoch and begins the next."""
    consumer = LatencyConsumer(target, f"primary.{_PROBE}", PARTITIONS)
    consumer.start()
    with opened(_access(source), [_PROBE]) as (loop, network):
        write(loop, network, _PROBE, _PROBE_RATE, 2)
        _create(source, [_NEWCOMER])
        write(loop, network, _PROBE, _PROBE_RATE, _CHANGE_SECONDS)
    time.sleep(2)
    ages = consumer.stop()
    with Admin(_access(target)) as admin:
        if f"primary.{_NEWCOMER}" not in admin.topics([f"primary.{_NEWCOMER}"]):
            raise AssertionError("the new topic was not found in time")
    return max(ages) / 1000


def _flow(folder: Path, properties: Mapping[str, str]) -> FlowConfig:
    file = folder / "scale.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in properties.items()))
    flow = load(file).flow("primary->backup")
    assert flow is not None
    return flow


def _planning(flow: FlowConfig) -> tuple[float, float, float]:
    """Seconds to take the flow over, to look for changes, and to plan an epoch; by the driver's own code, alone."""
    driver = FlowDriver(flow_settings(flow), ClusterTopics(flow))
    take_over = _timed(driver.take_over)
    driver.lane_tasks(1)  # the first plan also reads all positions
    refresh = statistics.median(_timed(driver.refresh) for _ in range(3))
    plan = statistics.median(_timed(lambda: driver.lane_tasks(2)) for _ in range(3))
    return take_over, refresh, plan


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began
