"""A partition that cannot be asked, as it has no leader or is gone, hides neither how others are nor what they need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from kafka import KafkaAdminClient

from heliograph.control.lag_watch import LagWatch, PartitionLag
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.flow import FlowDriver
from heliograph.engine.settings import FlowSettings
from heliograph.errors import BrokerUnavailable
from heliograph.kafka.access import Access, access_for
from heliograph.kafka.groups import Committed, Groups
from heliograph.model import Assignment, TopicPartition
from heliograph.sync.group_offsets import GroupOffsets
from heliograph.sync.groups import GroupSync, SkipReason
from heliograph.sync.topics import flow_topics
from tests.control.test_standing import NoTopics
from tests.engine.test_leaderless_target import create_on, has_leader
from tests.sync.moving import make_moving, produce
from tests.waiting import wait_until
from tests.zoo.internal_topics import fresh_names
from tests.zoo.topics import await_leaders, create_topic, fresh_name

pytestmark = pytest.mark.kafka

Darken = Callable[[TopicPartition], None]


@pytest.fixture(scope="module")
def halves() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("halves", brokers=2, separate_controller=True)) as [cluster]:
        yield cluster


@pytest.fixture
def darken(halves: EmbeddedCluster) -> Iterator[Darken]:
    """Stops the second broker, and waits until a partition has no leader; the broker is back after the test."""

    def stop(where: TopicPartition) -> None:
        halves.brokers[1].stop()
        address = halves.brokers[0].spec.listeners[0].address
        wait_until(lambda: not has_leader(address, where), f"{where} to be without a leader")

    yield stop
    lighten(halves)


def lighten(cluster: EmbeddedCluster) -> None:
    """The second broker is back, if it was stopped."""
    if not cluster.brokers[1].process.is_running:
        cluster.brokers[1].start()
    cluster.wait_until_ready()


def flow_from(cluster: EmbeddedCluster, *partitions: TopicPartition) -> FlowDriver:
    source = Access("halves", cluster.bootstrap_servers.split(","))
    driver = FlowDriver(FlowSettings("a->b", source, Access("b", ["127.0.0.1:1"]), fresh_names()), NoTopics())
    driver._assignments = [Assignment(where, where) for where in partitions]
    return driver


def test_how_far_other_partitions_are_is_known(halves: EmbeddedCluster, darken: Darken) -> None:
    topic, gone = create_on(halves, fresh_name("lag"), 2, 1), create_on(halves, fresh_name("gone"), 1)
    dark, light, deleted = TopicPartition(topic, 0), TopicPartition(topic, 1), TopicPartition(gone, 0)
    watch = LagWatch(flow_from(halves, dark, light, deleted))
    for where in (dark, light):
        produce(halves.bootstrap_servers, where, range(3))
    watch.look()
    before = watch.lags()
    assert {where: lag.records for where, lag in before.items()} == {dark: 3, light: 3, deleted: 0}
    seen_until_ms = watch.mirrored_until_ms(dark)

    darken(dark)
    with closing(KafkaAdminClient(bootstrap_servers=halves.brokers[0].spec.listeners[0].address)) as admin:
        admin.delete_topics([gone])
    produce(halves.brokers[0].spec.listeners[0].address, light, range(4))
    told = watch.look()
    assert watch.lags()[light] == PartitionLag(-1, 7, 7, pytest.approx(watch.lags()[light].seconds))
    assert watch.left_out.keys() >= {dark}
    assert watch.left_out[dark].why == "has no leader"
    assert "not asked: " in told
    assert watch.lags()[dark].records == 3
    assert watch.mirrored_until_ms(dark) <= seen_until_ms + 5  # nobody knows what has come since; clocks are rounded
    wait_until(lambda: watch.look() != "" and deleted in watch.left_out, "the topic to be gone")
    assert watch.seconds_since_look() < 5

    watch._looked_at -= 30
    watch.look()
    lighten(halves)
    await_leaders(halves.bootstrap_servers, topic, 2)
    wait_until(lambda: (watch.look() != "") and dark not in watch.left_out, "the partition to be asked again")
    assert watch.lags()[dark].records == 3


def test_what_cannot_be_asked_gets_older_and_what_can_does_not(halves: EmbeddedCluster, darken: Darken) -> None:
    topic = create_on(halves, fresh_name("older"), 2, 1)
    dark, light = TopicPartition(topic, 0), TopicPartition(topic, 1)
    watch = LagWatch(flow_from(halves, dark, light))
    watch.look()
    darken(dark)
    watch._looked_at -= 100  # as if that had been long ago
    watch.look()
    assert watch.lags()[dark].seconds == pytest.approx(100, abs=30)
    assert watch.lags()[light].seconds == 0


def test_where_nothing_can_be_asked_that_is_said(halves: EmbeddedCluster, darken: Darken) -> None:
    dark = TopicPartition(create_on(halves, fresh_name("all"), 2), 0)
    watch = LagWatch(flow_from(halves, dark))
    darken(dark)
    with pytest.raises(BrokerUnavailable, match=f"{dark}: has no leader"):
        watch.look()


def test_groups_are_translated_in_all_other_partitions(
    primary: EmbeddedCluster, halves: EmbeddedCluster, darken: Darken, tmp_path_factory: pytest.TempPathFactory
) -> None:
    moving = make_moving(tmp_path_factory.mktemp("halves"), (primary, halves), "halves-.*")
    for name in flow_topics(moving.flow):
        create_on(halves, name, *([1, 1] if name == flow_topics(moving.flow).offsets else [1]))
    topic = create_topic(primary.bootstrap_servers, fresh_name("halves"), 2)
    copy = create_on(halves, f"{moving.name}.{topic}", 2, 1)
    dark, light = TopicPartition(copy, 0), TopicPartition(copy, 1)
    group = f"{moving.name}-billing"
    for number in range(2):
        produce(primary.bootstrap_servers, TopicPartition(topic, number), range(10))
    with Groups(access_for(moving.flow.source, "admin")) as groups:
        groups.commit({group: {TopicPartition(topic, number): Committed(4) for number in range(2)}})
    moving.mirror()

    darken(dark)
    sync = GroupSync(GroupOffsets(moving.flow))
    result = sync.run()
    assert result.written == {group: {light: Committed(4)}}
    assert result.skipped[SkipReason.LEFT_OUT] == 1
    assert f"left out: {dark} (has no leader)" in str(result)

    lighten(halves)
    await_leaders(halves.bootstrap_servers, copy, 2)
    wait_until(lambda: dark in sync.run().written.get(group, ()), "the partition that was left out", 60, 0.5)
    with Groups(access_for(moving.flow.target, "admin")) as groups:
        assert {where: item.offset for where, item in groups.committed([group])[group].items()} == {light: 4, dark: 4}
