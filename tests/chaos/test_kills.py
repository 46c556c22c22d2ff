"""Whatever is killed, whenever: nothing lost, nothing repeated, and mirroring goes on by itself."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.engine.fault_points import POINTS
from heliograph.errors import TakenOver
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import Stage
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

SEED = 20261115


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Clusters of this module's own: its tests restart brokers."""
    with running_clusters(ClusterSpec("primary"), ClusterSpec("backup")) as (primary, backup):
        yield primary, backup


def _kill(process: psutil.Process) -> None:
    process.kill()
    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, f"{process} to be gone")


def test_twenty_kills_of_every_part(clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> None:
    """Workers most often, as they do the work; JVM and engine too. Each kill is seen to hit, and survived."""
    stage = Stage(clusters, tmp_path, "kills")
    chance = random.Random(SEED)
    parts = ["worker"] * 14 + ["jvm"] * 3 + ["engine"] * 3
    chance.shuffle(parts)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress(90)
            for part in parts:
                victim = getattr(mirror, part)()
                _kill(victim)
                stage.await_progress()
        assert load.acknowledged > 1000
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_a_lane_that_dies_at_any_step_of_a_commit(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    stage = Stage(clusters, tmp_path, "steps")
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress(90)
            for point in POINTS * 2:
                armed = stage.faults / point
                armed.touch()
                if point in ("fenced", "started"):
                    _kill(mirror.worker())  # a lane passes these points only when it starts
                wait_until(lambda armed=armed: not armed.exists(), f"a lane to die at {point}", 60)
                stage.await_progress()
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_a_frozen_mirror_that_wakes_up_beside_a_new_one(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    """The old one ends by itself, fenced, and has written nothing twice."""
    stage = Stage(clusters, tmp_path, "zombie")
    old = stage.start()
    new: MirrorProcess | None = None
    try:
        with stage.load() as load:
            stage.await_progress(90)
            frozen = old.tree()
            for process in frozen:
                process.send_signal(signal.SIGSTOP)
            new = stage.start()
            stage.await_progress(90)
            for process in reversed(frozen):
                process.send_signal(signal.SIGCONT)
            assert old.wait(60) == TakenOver.exit_code
            stage.await_progress()
        stage.expect_equal(load.acknowledged)
        assert "belongs to" in stage.log.read_text(errors="replace")
        assert new.stop() == 0
    finally:
        old.kill()
        if new is not None:
            new.kill()


def test_brokers_restart(clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> None:
    """The target's broker is killed, then the source's; the mirror needs no help."""
    stage = Stage(clusters, tmp_path, "restarts")
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress(90)
            for cluster in (stage.target, stage.source):
                broker = cluster.brokers[0]
                broker.process.kill()
                broker.start()
                cluster.wait_until_ready()
                stage.await_progress()
        assert load.acknowledged > 100
        stage.expect_equal()
        assert mirror.stop() == 0
    finally:
        mirror.kill()


def test_stop_and_start_again(clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path) -> None:
    """A clean stop under load takes less than 15 s and ends with code 0; the next start goes on exactly there."""
    stage = Stage(clusters, tmp_path, "stops")
    with stage.load() as load:
        for _ in range(3):
            mirror = stage.start()
            try:
                stage.await_progress(90)
                assert mirror.stop(20) == 0
            finally:
                mirror.kill()
    last = stage.start()
    try:
        stage.expect_equal(load.acknowledged)
        assert last.stop(20) == 0
    finally:
        last.kill()
