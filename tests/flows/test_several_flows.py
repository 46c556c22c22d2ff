"""Several flows in one process: both directions, two targets, and a target that is down."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.kafka.topics import NewTopic
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import admin_of, await_growth, copies, expect_equal, write_settings
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_PARTITIONS = 3
_LONGEST_PAUSE = 10
_QUICK_START = 10  # seconds from an attempt that succeeds to the first records


@pytest.fixture(scope="module")
def spare() -> Iterator[EmbeddedCluster]:
    """A third cluster, whose broker a test may kill."""
    with running_clusters(ClusterSpec("spare")) as (cluster,):
        yield cluster


def test_both_directions_at_once(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> None:
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    options = {"topics": r".*both-ways", "tasks.max": "1"}
    write_settings(settings, {"here": primary, "there": backup}, ["here->there", "there->here"], options)
    for cluster in (primary, backup):
        _create(cluster, "both-ways")
    mirror = MirrorProcess(settings, log)
    try:
        with _load(primary, "both-ways") as out, _load(backup, "both-ways") as back:
            await_growth(backup, "here.both-ways", 90)
            await_growth(primary, "there.both-ways")
        expect_equal(primary, backup, copies("both-ways", "here.both-ways", _PARTITIONS), out.acknowledged, log)
        expect_equal(backup, primary, copies("both-ways", "there.both-ways", _PARTITIONS), back.acknowledged, log)
        with admin_of(primary) as one, admin_of(backup) as other:
            names = {*one.topics(), *other.topics()}
        copied = {"here.both-ways", "there.both-ways"}
        assert {name for name in names if name.endswith("both-ways")} == {"both-ways", *copied}
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_a_target_that_is_down_at_the_start_holds_up_nobody_and_gets_all_later(
    primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, tmp_path: Path
) -> None:
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    clusters = {"hub": primary, "near": backup, "far": spare}
    write_settings(settings, clusters, ["hub->near", "hub->far"], {"topics": "fan-out", "tasks.max": "1"})
    _create(primary, "fan-out")
    spare.brokers[0].process.kill()
    mirror = MirrorProcess(settings, log)
    try:
        with _load(primary, "fan-out") as load:
            await_growth(backup, "hub.fan-out", 90)
            wait_until(lambda: len(_pauses(log)) >= 5, "the fifth attempt at the target that is down", 90)
            assert max(_pauses(log)) <= _LONGEST_PAUSE
            _bring_back(spare)
            await_growth(spare, "hub.fan-out", _LONGEST_PAUSE + _QUICK_START)
        for target in (backup, spare):
            expect_equal(primary, target, copies("fan-out", "hub.fan-out", _PARTITIONS), load.acknowledged, log)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_a_target_that_dies_holds_up_neither_the_other_flow_nor_the_end(
    primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, tmp_path: Path
) -> None:
    """The flow that lives is stopped in good order; what the other could not commit comes with the next start."""
    settings, log = tmp_path / "mm2.properties", tmp_path / "mirror.log"
    clusters = {"hub": primary, "near": backup, "far": spare}
    write_settings(settings, clusters, ["hub->near", "hub->far"], {"topics": "half", "tasks.max": "1"})
    _create(primary, "half")
    with _load(primary, "half") as load:
        mirror = MirrorProcess(settings, log)
        try:
            await_growth(backup, "hub.half", 90)
            await_growth(spare, "hub.half", 90)
            spare.brokers[0].process.kill()
            for _ in range(5):
                await_growth(backup, "hub.half", 10)
            assert mirror.stop(30) == 0
        finally:
            mirror.kill()
            _bring_back(spare)
    again = MirrorProcess(settings, log)
    try:
        for target in (backup, spare):
            expect_equal(primary, target, copies("half", "hub.half", _PARTITIONS), load.acknowledged, log)
        assert again.stop() == 0
    finally:
        again.kill()


def _pauses(log: Path) -> list[float]:
    """How long a flow has waited before each new attempt, in seconds."""
    return [float(found) for found in re.findall(r"hub->far: .*starting again in ([\d.]+) s", log.read_text())]


def _create(cluster: EmbeddedCluster, topic: str) -> None:
    with admin_of(cluster) as admin:
        admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])


def _load(cluster: EmbeddedCluster, topic: str) -> Load:
    return Load(cluster.bootstrap_servers, topic, _PARTITIONS, per_second=200)


def _bring_back(cluster: EmbeddedCluster) -> None:
    for broker in cluster.brokers:
        broker.start()
    cluster.wait_until_ready()
