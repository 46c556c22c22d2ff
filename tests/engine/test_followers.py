"""Three brokers in three racks: a lane reads from the nearest one, and goes on when brokers die and return."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import pytest
from kafka.protocol.metadata import MetadataRequest

from heliograph.embedded.broker import Broker
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine import incoming
from heliograph.engine.incoming import Incoming
from heliograph.engine.source_broker import Arrival, SourceBroker
from heliograph.errors import ClusterError
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.fetching import FetchLimits, FetchPoint
from heliograph.kafka.topics import NewTopic
from heliograph.model import Event, EventKind, TopicPartition
from tests.chaos.outages import SOON_MISSED
from tests.engine.lane_bench import OFFSETS_PARTITIONS, QUICK, TOPICS
from tests.engine.ward import LaneWalk, Ward
from tests.waiting import wait_until
from tests.zoo import raw
from tests.zoo.stations import Stations
from tests.zoo.topics import await_leaders, fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.chaos]

RACKS = ("r1", "r2", "r3")
OUR_RACK, OUR_BROKER = "r2", 2
NEAR = replace(QUICK, limits=FetchLimits(max_wait_ms=50, rack=OUR_RACK))
SECONDS_TO_GO_ON = 20.0
OUT_OF_RANGE = 1
_SETTINGS = {
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    **SOON_MISSED,
}

Clusters = tuple[EmbeddedCluster, EmbeddedCluster]


@pytest.fixture(scope="module")
def clusters(prepared: Stations, backup: EmbeddedCluster) -> Iterator[Clusters]:
    """A cluster of three brokers in three racks, any of which can be killed, and the shared one of a single broker."""
    assert prepared.target == backup.bootstrap_servers  # so that it has the internal topics
    many = ClusterSpec(
        "many", brokers=3, racks=RACKS, separate_controller=True, heap="256m", settings=_SETTINGS
    )  # fmt: skip
    with running_clusters(many) as [three]:
        for name in TOPICS:
            create(three, name, OFFSETS_PARTITIONS if name == TOPICS.offsets else 1)
        yield three, backup


def create(cluster: EmbeddedCluster, name: str, partitions: int = 1, settings: dict[str, str] | None = None) -> str:
    """A topic with a replica on every broker, ready to be used; records of any age stay in it."""
    access = Access(cluster.alias, cluster.bootstrap_servers.split(","))
    with Admin(access) as admin:
        everything = {"retention.ms": "-1", **(settings or {})}
        admin.create_topics([NewTopic(name, partitions, len(cluster.brokers), everything)])
        assert admin.wait_for_topics({name: partitions}) == []
    if len(cluster.brokers) > 1:
        await_in_sync(cluster)
    await_leaders(cluster.bootstrap_servers, name, partitions)
    return name


def ward_between(source: EmbeddedCluster, target: EmbeddedCluster) -> Ward:
    """A topic of three partitions and its copy, with ten records each on the source."""
    name = create(source, fresh_name("three"), 3)
    copy = create(target, f"primary.{name}", 3)
    pairs = {TopicPartition(name, number): TopicPartition(copy, number) for number in range(3)}
    ward = Ward(Stations.of((source, target)), pairs, f"lane-of-{name}")
    feed_all(ward, range(10))
    return ward


def feed_all(ward: Ward, numbers: range) -> None:
    for where in ward.pairs:
        ward.feed(where, numbers)


def feed_twice(ward: Ward) -> None:
    """Ten records that a request on its way may fetch, and ten more that nobody has asked for yet."""
    feed_all(ward, range(10, 20))
    feed_all(ward, range(20, 30))


def all_to(ward: Ward, end: int) -> dict[TopicPartition, int]:
    return dict.fromkeys(ward.pairs, end)


def leaders(servers: str, topic: str, partitions: int = 3) -> list[int]:
    """Who leads each partition of a topic."""
    with raw.network(servers, topic) as (_, network):
        return [network.leader(topic, number).broker_id for number in range(partitions)]


def not_led_by(ward: Ward, broker_id: int) -> list[TopicPartition]:
    """The source partitions that other brokers lead."""
    found = leaders(ward.stations.source, ward.bad.topic)
    return [where for where, leader in zip(ward.pairs, found, strict=True) if leader != broker_id]


def await_in_sync(cluster: EmbeddedCluster) -> None:
    """Wait until every partition has all its replicas, and so every broker may be killed."""

    def is_in_sync() -> bool:
        try:
            with raw.network(cluster.bootstrap_servers) as (_, network):
                topics = network.anyone().call(MetadataRequest(topics=None), version=9).topics
        except ClusterError:
            return False
        partitions = [partition for topic in topics for partition in topic.partitions]
        return all(len(item.isr_nodes) == len(item.replica_nodes) and item.leader_id > 0 for item in partitions)

    wait_until(is_in_sync, "all replicas in sync", 60, 0.1)


@contextmanager
def killed(cluster: EmbeddedCluster, broker_id: int) -> Iterator[Broker]:
    """One broker killed; at the end it is there again, and in sync."""
    broker = next(broker for broker in cluster.brokers if broker.spec.node_id == broker_id)
    broker.process.kill()
    try:
        yield broker
    finally:
        bring_back(cluster, broker)


def bring_back(cluster: EmbeddedCluster, broker: Broker) -> None:
    if not broker.process.is_running:
        broker.start()
        cluster.wait_until_ready()
        await_in_sync(cluster)


@pytest.fixture
def read_from(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How many bytes of records lanes have read from each broker of the source."""
    counted: Counter[int] = Counter()
    looked_at = SourceBroker.looked_at

    def count(broker: SourceBroker, arrival: Arrival) -> None:
        size = sum(len(fetched.records) for fetched in arrival.result.partitions)
        if size:
            counted[broker.broker_id] += size
        looked_at(broker, arrival)

    monkeypatch.setattr(SourceBroker, "looked_at", count)
    return counted


# -- followers ---------------------------------------------------------------------------------------------------------


def test_without_a_rack_every_partition_is_read_from_its_leader(clusters: Clusters, read_from: Counter[int]) -> None:
    ward = ward_between(*clusters)
    ward.copy_all()
    assert set(read_from) == set(leaders(ward.stations.source, ward.bad.topic)) == {1, 2, 3}


def test_a_lane_reads_from_the_broker_in_its_rack_before_and_after_that_broker_dies(
    clusters: Clusters, read_from: Counter[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "_AVOID_SECONDS", 2.0)
    ward = ward_between(*clusters)
    with ward.lane_walk(NEAR) as walk:
        walk.until_copied(all_to(ward, 10))
        assert set(read_from) == {OUR_BROKER}
        feed_twice(ward)
        led_elsewhere = not_led_by(ward, OUR_BROKER)
        with killed(clusters[0], OUR_BROKER) as broker:
            walk.until_copied(dict.fromkeys(led_elsewhere, 30))
            assert not_led_by(ward, OUR_BROKER) == led_elsewhere, "it took until the others had noticed the death"
            walk.until_copied(all_to(ward, 30))
            assert set(read_from) > {OUR_BROKER}
            bring_back(clusters[0], broker)
            end = feed_until_read_from(OUR_BROKER, read_from, ward, walk)
            read_from.clear()
            feed_all(ward, range(end, end + 10))
            walk.until_copied(all_to(ward, end + 10))
            assert set(read_from) == {OUR_BROKER}
    ward.assert_equal(at_least=3 * (end + 10))
    assert ward.events() == []


def feed_until_read_from(broker_id: int, read_from: Counter[int], ward: Ward, walk: LaneWalk) -> int:
    """Feed records one by one until a broker is read from; returns how many there are then."""
    read_from.clear()
    for number in range(30, 1000):
        feed_all(ward, range(number, number + 1))
        walk.until_copied(all_to(ward, number + 1))
        if broker_id in read_from:
            return number + 1
    raise AssertionError(f"broker {broker_id} was never read from")


def test_a_partition_without_a_leader_and_a_position_keeps_no_other_from_beginning(
    clusters: Clusters,
) -> None:
    source, target = clusters
    name = fresh_name("alone")
    with Admin(Access(source.alias, source.bootstrap_servers.split(","))) as admin:
        admin.create_topics([NewTopic(name, 3, 1)])
        assert admin.wait_for_topics({name: 3}) == []
    await_leaders(source.bootstrap_servers, name, 3)
    copy = create(target, f"primary.{name}", 3)
    pairs = {TopicPartition(name, number): TopicPartition(copy, number) for number in range(3)}
    ward = Ward(Stations.of(clusters), pairs, f"lane-of-{name}")
    feed_all(ward, range(10))
    lost = leaders(source.bootstrap_servers, name)[0]
    others = not_led_by(ward, lost)
    with killed(source, lost) as broker:
        wait_until(lambda: leaders_or_none(source, name)[0] is None, "the partition to be without a leader", 60)
        with ward.lane_walk() as walk:
            walk.until_copied(dict.fromkeys(others, 10))
            bring_back(source, broker)
            walk.until_copied(all_to(ward, 10))
    ward.assert_equal(at_least=30)


def leaders_or_none(cluster: EmbeddedCluster, topic: str) -> list[int | None]:
    """Who leads each partition of a topic, if anybody does."""
    found: list[int | None] = []
    with raw.network(cluster.bootstrap_servers, topic) as (_, network):
        for number in network.partitions(topic):
            try:
                found.append(network.leader(topic, number).broker_id)
            except ClusterError:
                found.append(None)
    return found


class Answer(NamedTuple):
    """What a broker says of a partition, and whether it is read elsewhere for it."""

    broker_id: int
    error_code: int
    is_elsewhere: bool


def answers_to(reader: Incoming) -> Iterator[Answer]:
    """What brokers say of the partitions that are read; positions stay where they are."""
    while True:
        reader.fetch()
        reader._network.loop.run_once(0.1)
        while reader.arrivals:
            arrival = reader.arrivals.popleft()
            for fetched in arrival.result.partitions:
                is_elsewhere = reader.is_elsewhere(arrival.broker, fetched)
                yield Answer(arrival.broker.broker_id, fetched.error_code, is_elsewhere)
            arrival.broker.looked_at(arrival)


@pytest.fixture
def followed(clusters: Clusters) -> Iterator[tuple[Incoming, FetchPoint, int]]:
    """A partition that is led from another rack, the reader of it, and its leader."""
    ward = ward_between(*clusters)
    found = leaders(ward.stations.source, ward.bad.topic)
    partition = next(number for number, leader in enumerate(found) if leader != OUR_BROKER)
    with raw.network(ward.stations.source, ward.bad.topic) as (_, network):
        point = FetchPoint(ward.bad.topic, network.topic_id(ward.bad.topic), partition, 0)
        reader = Incoming(network, NEAR.limits)
        reader.read(point)
        yield reader, point, found[partition]


def test_what_a_follower_does_not_have_is_asked_of_the_leader(followed: tuple[Incoming, FetchPoint, int]) -> None:
    reader, point, leader = followed
    answers = answers_to(reader)
    assert list(islice(answers, 2)) == [(leader, 0, True), (OUR_BROKER, 0, False)]
    point.offset = 1000
    reader._followed[TopicPartition(point.topic, point.partition)].session.moved(point)
    refusals = (answer for answer in answers if answer.error_code)
    assert list(islice(refusals, 2)) == [(OUR_BROKER, OUT_OF_RANGE, True), (leader, OUT_OF_RANGE, False)]


def test_the_leader_is_asked_again_from_time_to_time(
    followed: tuple[Incoming, FetchPoint, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _, leader = followed
    monkeypatch.setattr(incoming, "_ASK_LEADERS_SECONDS", 0.0)
    assert list(islice(answers_to(reader), 2)) == [(leader, 0, True)] * 2


# -- dead brokers ------------------------------------------------------------------------------------------------------


def test_a_lane_that_reads_nearby_goes_on_soon_after_a_leader_on_the_source_is_killed(clusters: Clusters) -> None:
    ward = ward_between(*clusters)
    with ward.lane_walk(NEAR) as walk:
        walk.until_copied(all_to(ward, 10))
        feed_twice(ward)
        victim = leaders(ward.stations.source, ward.bad.topic)[0]
        with killed(clusters[0], victim):
            began = time.monotonic()
            walk.until_copied(all_to(ward, 30))
            seconds = time.monotonic() - began
            assert leaders(ward.stations.source, ward.bad.topic)[0] != victim
    assert seconds < SECONDS_TO_GO_ON
    ward.assert_equal(at_least=90)


def test_partitions_with_living_leaders_do_not_wait_for_the_dead_one_which_is_told_when_it_takes_long(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(incoming, "_LONG_SECONDS", 1.0)
    ward = ward_between(*clusters)
    with ward.lane_walk() as walk:
        walk.until_copied(all_to(ward, 10))
        feed_twice(ward)
        victim = leaders(ward.stations.source, ward.bad.topic)[0]
        with killed(clusters[0], victim):
            began = time.monotonic()
            walk.until_copied({where: 30 for where in ward.pairs if where != ward.bad})
            assert leaders(ward.stations.source, ward.bad.topic)[0] == victim, "it took until there was a new leader"
            stopped_at = walk.done[ward.bad]
            assert stopped_at < 30
            walk.until_told(2)
            walk.until_copied(all_to(ward, 30))
            seconds = time.monotonic() - began
            assert leaders(ward.stations.source, ward.bad.topic)[0] != victim
    aside, resumed = ward.events()
    reason = "its leader on the source is out of reach; it goes on when the leader is back"
    assert aside == Event(EventKind.SET_ASIDE, ward.bad, aside.from_offset, -1, reason)
    assert stopped_at <= aside.from_offset < 30
    assert resumed == Event(EventKind.RESUMED, ward.bad, aside.from_offset, -1, "goes on")
    assert seconds < SECONDS_TO_GO_ON
    ward.assert_equal(at_least=90)


def test_a_lane_goes_on_soon_after_a_leader_on_the_target_is_killed(clusters: Clusters) -> None:
    three, one = clusters
    ward = ward_between(one, three)
    with ward.lane_walk() as walk:
        walk.until_copied(all_to(ward, 10))
        feed_all(ward, range(10, 20))
        victim = leaders(ward.stations.target, ward.pairs[ward.bad].topic)[0]
        with killed(three, victim):
            began = time.monotonic()
            walk.until_copied(all_to(ward, 20))
            seconds = time.monotonic() - began
            assert leaders(ward.stations.target, ward.pairs[ward.bad].topic)[0] != victim
    assert seconds < SECONDS_TO_GO_ON
    ward.assert_equal(at_least=60)
