"""Embedded clusters start fast, stop cleanly, survive what tests do to them, and end with their parent."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.embedded.formatting import new_id
from heliograph.errors import ProcessFailed
from heliograph.kafka.probe import count_brokers
from tests.embedded.traffic import create_topic, messages, receive, send
from tests.waiting import is_gone, wait_until

pytestmark = pytest.mark.kafka

_PARENT = """
import sys, time
from pathlib import Path
from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster
cluster = EmbeddedCluster(ClusterSpec("orphan", heap="256m", folder=Path(sys.argv[1])))
cluster.start()
print(cluster.brokers[0].process.pid, flush=True)
time.sleep(300)
"""
_EAGER_RETENTION = {"log.initial.task.delay.ms": "100", "log.retention.check.interval.ms": "100"}
_BROKEN = {"num.io.threads": "several"}


@pytest.fixture(scope="module")
def trio() -> Iterator[EmbeddedCluster]:
    """Three brokers and a controller of its own."""
    with EmbeddedCluster(ClusterSpec("trio", brokers=3, separate_controller=True, heap="256m")) as cluster:
        yield cluster


def small(alias: str, folder: Path | None = None) -> ClusterSpec:
    """A cluster that starts with little memory."""
    return ClusterSpec(alias, heap="256m", folder=folder)


def was_stopped_cleanly(cluster: EmbeddedCluster) -> bool:
    """Whether every broker has closed its logs, so that the next start has nothing to mend."""
    return all((node.spec.folder / "data" / ".kafka_cleanshutdown").exists() for node in cluster.brokers)


def test_two_clusters_start_within_seconds_and_leave_nothing_behind() -> None:
    began = time.monotonic()

    with running_clusters(ClusterSpec("primary"), ClusterSpec("backup")) as clusters:
        took = time.monotonic() - began
        counts = [count_brokers(cluster.bootstrap_servers) for cluster in clusters]

    print(f"two clusters were ready after {took:.1f} s")
    assert counts == [1, 1]
    assert took < 30
    assert not [cluster for cluster in clusters if cluster.folder.exists()]
    assert all(is_gone(cluster.brokers[0].process.pid) for cluster in clusters)


def test_a_broker_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PARENT, str(tmp_path)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as output:
        broker = int(output.readline())
    assert not is_gone(broker)

    parent.kill()
    parent.wait()

    wait_until(lambda: is_gone(broker), "the broker to be gone", 10)


def test_data_and_logs_survive_in_a_named_folder_and_the_ports_stay(tmp_path: Path) -> None:
    sent = messages(50)
    spec = replace(small("kept", tmp_path), settings=_EAGER_RETENTION)
    with EmbeddedCluster(spec) as first:
        create_topic(first, "orders")
        send(first, "orders", sent)
    assert was_stopped_cleanly(first)
    assert "Kafka Server started" in first.brokers[0].log.read_text()

    with EmbeddedCluster(spec) as second:
        assert second.bootstrap_servers == first.bootstrap_servers
        assert receive(second, "orders", 50) == sent


def test_a_frozen_broker_does_not_answer_until_thawed_and_still_stops_cleanly(tmp_path: Path) -> None:
    with EmbeddedCluster(small("frozen", tmp_path)) as cluster:
        broker = cluster.brokers[0].process
        broker.signal(signal.SIGSTOP)
        assert count_brokers(cluster.bootstrap_servers, timeout_ms=500) == 0

        broker.signal(signal.SIGCONT)
        wait_until(lambda: count_brokers(cluster.bootstrap_servers) == 1, "the broker to answer")

        broker.signal(signal.SIGSTOP)
    assert was_stopped_cleanly(cluster)


def test_a_failed_start_stops_everything_and_tells_why(tmp_path: Path) -> None:
    healthy = small("healthy", tmp_path / "healthy")
    broken = ClusterSpec("broken", settings=_BROKEN, folder=tmp_path / "broken")

    with (
        pytest.raises(ProcessFailed, match=r"broken-1 ended with code 1:\n(?s:.*)num\.io\.threads"),
        running_clusters(healthy, broken),
    ):
        pytest.fail("a broken cluster was started")

    assert not [port for port in _ports(tmp_path / "healthy") if count_brokers(f"127.0.0.1:{port}")]


def _ports(folder: Path) -> list[str]:
    return (folder / "ports").read_text().split()


def test_a_failed_start_of_one_cluster_leaves_no_folder() -> None:
    cluster = EmbeddedCluster(ClusterSpec("broken", settings=_BROKEN))

    with pytest.raises(ProcessFailed):
        cluster.start()

    assert not cluster.folder.exists()
    assert is_gone(cluster.brokers[0].process.pid)


def test_a_dead_controller_is_told_at_once() -> None:
    spec = ClusterSpec("headless", separate_controller=True, heap="256m")
    cluster = EmbeddedCluster(spec)
    began = time.monotonic()
    cluster.begin_start()
    try:
        cluster.nodes[0].process.kill()

        with pytest.raises(ProcessFailed, match="headless-100 ended with code -9"):
            cluster.wait_until_ready(60)
        assert time.monotonic() - began < 30
    finally:
        cluster.stop()


def test_stopping_a_cluster_that_never_started_is_allowed() -> None:
    cluster = EmbeddedCluster(small("idle"))

    cluster.stop()

    assert not cluster.folder.exists()


def test_all_three_brokers_are_named(trio: EmbeddedCluster) -> None:
    assert len(trio.bootstrap_servers.split(",")) == 3
    assert [count_brokers(address) for address in trio.bootstrap_servers.split(",")] == [3, 3, 3]


def test_a_separate_controller_is_no_broker(trio: EmbeddedCluster) -> None:
    assert [node.spec.roles for node in trio.nodes] == ["controller", "broker", "broker", "broker"]


def test_a_killed_broker_comes_back_with_its_data(trio: EmbeddedCluster) -> None:
    sent = messages(20)
    create_topic(trio, "on-two", brokers=[2])
    send(trio, "on-two", sent)
    broker = trio.brokers[1]

    broker.process.kill()
    assert count_brokers(broker.spec.listeners[0].address) == 0
    assert count_brokers(trio.brokers[0].spec.listeners[0].address) > 0
    broker.start()
    trio.wait_until_ready()

    assert receive(trio, "on-two", 20) == sent


@pytest.mark.long
def test_all_brokers_may_die_while_the_controller_lives(trio: EmbeddedCluster) -> None:
    for broker in trio.brokers:
        broker.process.kill()
    assert trio.nodes[0].process.is_running

    for broker in trio.brokers:
        broker.start()
    trio.wait_until_ready()

    assert count_brokers(trio.brokers[0].spec.listeners[0].address) == 3


def test_cluster_ids_are_never_taken_for_options() -> None:
    ids = {new_id() for _ in range(1000)}

    assert len(ids) == 1000
    assert not [drawn for drawn in ids if drawn.startswith("-")]
