"""Brokers forget a producer by the age of the records that it wrote: a fence must outlive that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.fetching import FetchLimits
from heliograph.kafka.leftovers import describe
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from tests.engine.frozen import frozen_lane
from tests.engine.lane_bench import OFFSETS_PARTITIONS, PATIENCE_SECONDS, QUICK, TOPICS, Mirror, only_source
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.internal_topics import create_all
from tests.zoo.stations import Stations
from tests.zoo.topics import create_topic, fresh_name

pytestmark = pytest.mark.kafka

_THREE_DAYS_MS = 3 * 24 * 60 * 60 * 1000
SEQUENCES = replace(QUICK, by_sequences=True)
NEVER_FLUSHES = replace(
    SEQUENCES, commit_interval=PATIENCE_SECONDS, limits=FetchLimits(max_wait_ms=50, max_bytes=4_000)
)


@pytest.fixture(scope="module")
def forgetful() -> Iterator[EmbeddedCluster]:
    """A target that looks every second which producers it may forget."""
    spec = ClusterSpec("forgetful", settings={"producer.id.expiration.check.interval.ms": "1000"})
    with running_clusters(spec) as (cluster,):
        create_all(cluster.bootstrap_servers, TOPICS, OFFSETS_PARTITIONS)
        yield cluster


@pytest.fixture
def mirror(primary: EmbeddedCluster, forgetful: EmbeddedCluster) -> Mirror:
    """One partition of records that are three days old."""
    stations = Stations(primary.bootstrap_servers, forgetful.bootstrap_servers)
    name = create_topic(stations.source, fresh_name("old"))
    copy = create_topic(stations.target, f"primary.{name}")
    made = Mirror(stations, {TopicPartition(name, 0): TopicPartition(copy, 0)}, f"lane-of-{name}")
    made.write(old_records(first) for first in range(0, 300, 10))
    return made


def old_records(first: int) -> list[Record]:
    then = int(time.time() * 1000) - _THREE_DAYS_MS
    return [Record(0, then, b"k", b"%d" % number * 30) for number in range(first, first + 10)]


def knows(mirror: Mirror, producer_id: int) -> bool:
    """Whether the target still knows a producer."""
    target = mirror.pairs[only_source(mirror)]
    with raw.network(mirror.stations.target, target.topic) as (_, network):
        return any(state.producer_id == producer_id for state in describe(network, [target]))


def test_a_frozen_lane_is_kept_out_although_its_successor_wrote_records_that_are_days_old(mirror: Mirror) -> None:
    before = mirror.target_end()
    with frozen_lane(
        lambda is_over: mirror.lane(is_over, NEVER_FLUSHES), lambda: mirror.target_end() >= before + 40
    ) as frozen:
        began = time.monotonic()
        mirror.copy_all(SEQUENCES)
        [position] = mirror.positions().values()
        wait_until(lambda: not knows(mirror, position.producer_id), "the broker to forget the successor")
        frozen.go_on()
        assert time.monotonic() - began < 10, "the old lane's lease has ended, so this does not show what a fence does"
        mirror.write([old_records(300)])
        wait_until(lambda: mirror.target_end() >= 310, "the lane to go on")
    mirror.assert_equal(at_least=310)
    mirror.assert_ledger_maps_every_record()


def test_records_that_are_days_old_arrive_one_batch_at_a_time(mirror: Mirror) -> None:
    mirror.copy_all(SEQUENCES)
    mirror.assert_equal(at_least=300)
