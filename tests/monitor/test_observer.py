"""Looking at two real clusters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.admin import NewTopic

from heliograph.config.mirror_config import load
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.ports import free_ports
from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import TopicPartition
from heliograph.monitor.lag import Method
from heliograph.monitor.observer import Observer
from heliograph.policy import java_regex
from tests.embedded.traffic import admin_of
from tests.monitor.scene import Scene, lags, make_scene, topic_of
from tests.sync.moving import make_moving, produce
from tests.waiting import wait_until
from tests.zoo.topics import create_topic
from tests.zoo.transactions import abort_open, leave_open, write_transactions

pytestmark = pytest.mark.kafka


@pytest.fixture
def scene(tmp_path: Path, primary: EmbeddedCluster, backup: EmbeddedCluster) -> Scene:
    return make_scene(tmp_path, primary, backup)


@pytest.fixture(scope="module")
def fading() -> Iterator[EmbeddedCluster]:
    with running_clusters(ClusterSpec("fading", brokers=2, separate_controller=True, heap="256m")) as (cluster,):
        yield cluster


def test_positions_tell_the_lag_of_each_partition(scene: Scene) -> None:
    topic = scene.source_topic("orders", 10, 7, 0, 5)
    assert scene.target_topic(topic, 3, 9, 0, 0) == f"{scene.alias}.{topic}"
    scene.create_offsets()
    scene.done(topic, {0: 3, 1: 2})
    scene.done(topic, {0: 5, 1: 6})
    observer = Observer(scene.flow)

    look = observer.look()

    found = topic_of(look, topic)
    assert look.is_complete
    assert [item.topic for item in look.topics] == [topic]
    assert lags(found) == [4, 0, 0, 5]
    assert found.lag_records == 9
    assert [item.method for item in found.partitions][:2] == [Method.POSITIONS, Method.POSITIONS]
    assert found.target_topic == f"{scene.alias}.{topic}"

    scene.done(topic, {0: 9, 3: 1})
    scene.send(topic, 1, 2)
    assert lags(topic_of(observer.look(), topic)) == [0, 2, 0, 3]


def test_beside_heliograph_itself_the_lag_is_exact_also_with_transactions(
    tmp_path: Path, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster]
) -> None:
    topic = create_topic(cluster_pair[0].bootstrap_servers, "monitored-transactions", 2)
    moving = make_moving(tmp_path, cluster_pair, topic)
    write_transactions(moving.source, TopicPartition(topic, 0), 6)
    observer = Observer(moving.flow)
    moving.mirror()

    found = topic_of(observer.look(), topic)
    assert (found.method, lags(found)) == (Method.POSITIONS, [0, 0])

    produce(moving.source, TopicPartition(topic, 0), range(4))
    assert lags(topic_of(observer.look(), topic)) == [4, 0]
    moving.mirror()
    assert lags(topic_of(observer.look(), topic)) == [0, 0]


def test_positions_of_another_topic_of_the_same_name_are_not_believed(scene: Scene) -> None:
    topic = scene.source_topic("reborn", 10)
    scene.target_topic(topic, 4)
    scene.create_offsets()
    scene.done(topic, {0: 9}, target_offset=3, topic_id="11111111-2222-3333-4444-555555555555")

    found = topic_of(Observer(scene.flow).look(), topic)

    assert (found.method, found.lag_records) == (Method.ENDS, 6)


def test_without_positions_the_ends_are_compared(scene: Scene) -> None:
    topic = scene.source_topic("plain", 10, 4)
    scene.target_topic(topic, 3, 6)

    found = topic_of(Observer(scene.flow).look(), topic)

    assert (found.method, lags(found)) == (Method.ENDS, [7, 0])


def test_offset_syncs_are_better_than_late_positions(scene: Scene) -> None:
    topic = scene.source_topic("synced", 50)
    scene.target_topic(topic, 30)
    create_topic(scene.source, "mm2-offset-syncs.there.internal")
    scene.create_offsets()
    scene.done(topic, {0: 19})
    observer = Observer(scene.flow)
    assert topic_of(observer.look(), topic).lag_records == 30

    scene.synced(OffsetSync(TopicPartition(topic, 0), 25, 15))

    found = topic_of(observer.look(), topic)
    assert (found.method, found.lag_records) == (Method.SYNCS, 10)


def test_a_topic_or_partition_that_the_target_lacks_lags_by_all_its_records(scene: Scene) -> None:
    missing, short = scene.source_topic("missing", 6, 2), scene.source_topic("short", 3, 4)
    scene.target_topic(short, 3)

    look = Observer(scene.flow).look()

    assert look.is_complete
    assert (topic_of(look, missing).method, lags(topic_of(look, missing))) == (Method.ABSENT, [6, 2])
    assert lags(topic_of(look, short)) == [0, 4]
    assert topic_of(look, short).method is Method.ABSENT


def test_records_of_open_transactions_are_no_lag(scene: Scene) -> None:
    topic = scene.source_topic("open", 4)
    scene.target_topic(topic, 4)
    name = leave_open(scene.source, TopicPartition(topic, 0), 3)

    found = topic_of(Observer(scene.flow).look(), topic)
    abort_open(scene.source, name)

    assert (found.lag_records, found.partitions[0].end) == (0, 4)


def test_only_the_wanted_topics_are_looked_at_and_a_name_that_fits_none_is_told(scene: Scene) -> None:
    one, other = scene.source_topic("one", 1), scene.source_topic("other", 1)
    scene.source_topic("third", 1)
    patterns = [java_regex.compile(text) for text in (one, ".*-oth.*", "nothing")]

    look = Observer(scene.flow, patterns).look()

    assert [item.topic for item in look.topics] == [one, other]
    assert any("mirrors no topic nothing" in note for note in look.notes)


def test_what_cannot_be_reached_is_named_and_no_lag_is_invented(
    tmp_path: Path, primary: EmbeddedCluster, fading: EmbeddedCluster
) -> None:
    scene = make_scene(tmp_path, primary, fading)
    topic = scene.source_topic("orders", 5, 6)
    remote = f"{scene.alias}.{topic}"
    _create_spread(fading, remote)
    observer = Observer(scene.flow)
    assert lags(topic_of(observer.look(), topic)) == [5, 6]

    fading.brokers[0].process.kill()
    wait_until(lambda: any(item.unreadable for item in observer.look().topics), "the loss of a leader")
    look = observer.look()
    found = topic_of(look, topic)
    assert [(item.cluster, item.reason) for item in look.troubles] == [("there", f"without a leader: {remote}-0")]
    assert (found.lag_records, found.unreadable, lags(found)) == (None, [0], [6])

    fading.brokers[1].process.kill()
    began = time.monotonic()
    look = observer.look()
    assert time.monotonic() - began < 20
    assert [item.cluster for item in look.troubles] == ["there"]
    assert look.troubles[0].reason
    assert not look.topics

    for broker in fading.brokers:
        broker.start()
    wait_until(lambda: observer.look().is_complete, "the cluster to come back", seconds=60)
    assert lags(topic_of(observer.look(), topic)) == [5, 6]


def test_both_clusters_are_named_when_both_are_gone(tmp_path: Path) -> None:
    one, two = free_ports(2)
    file = tmp_path / "mm2.properties"
    file.write_text(
        f"clusters=a,b\na.bootstrap.servers=127.0.0.1:{one}\nb.bootstrap.servers=127.0.0.1:{two}\na->b.enabled=true\n"
    )
    flow = load(file).flow("a->b")
    assert flow is not None
    assert [item.cluster for item in Observer(flow).look().troubles] == ["a", "b"]


def _create_spread(cluster: EmbeddedCluster, topic: str) -> None:
    """Two partitions, each on one broker alone."""
    with admin_of(cluster) as admin:
        admin.create_topics([NewTopic(topic, replica_assignments={0: [1], 1: [2]})])
    with Admin(Access("there", cluster.bootstrap_servers.split(","))) as ours:
        assert not ours.wait_for_topics({topic: 2})
