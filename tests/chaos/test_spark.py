"""Spark's files can vanish and its JVM can die: the target knows how far the mirror is, and it goes on from there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PATIENCE_SECONDS, Stage, admin_of
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]


@short_and_long("rounds", 1, 5)
def test_checkpoints_deleted_while_the_mirror_runs(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, rounds: int
) -> None:
    """A new topic ends the epoch, which Spark then wants to note in a folder that is gone."""
    options = {"running->mirror.topics": "unnoted.*", "refresh.topics.interval.seconds": "1"}
    stage = Stage(cluster_pair, tmp_path, fresh_name("unnoted"), ("running", "mirror"), options)
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            for _ in range(rounds):
                _delete_checkpoints(mirror)
                with admin_of(stage.source) as admin:
                    admin.create_topics([NewTopic(fresh_name("unnoted"), 1, 1)])
                wait_until(lambda: _has_noted(mirror), "notes of Spark", PATIENCE_SECONDS)
                stage.await_progress()
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()


@short_and_long("rounds", 1, 3)
def test_checkpoints_deleted_while_the_mirror_is_down(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, rounds: int
) -> None:
    """A killed mirror leaves its checkpoints behind, one that is stopped leaves nothing."""
    stage = Stage(cluster_pair, tmp_path, fresh_name("forgotten"), ("stopped", "mirror"))
    with stage.load() as load:
        for _ in range(rounds):
            mirror = stage.start()
            try:
                stage.await_progress()
            finally:
                mirror.kill()
            _delete_checkpoints(mirror)
    last = stage.start()
    try:
        stage.expect_equal(load.acknowledged)
        assert last.stop() == 0
    finally:
        last.kill()
    assert not any(path.is_file() for folder in _checkpoints(last) for path in folder.rglob("*"))


def test_a_dead_jvm_is_told_in_our_own_words(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    stage = Stage(cluster_pair, tmp_path, "wordless", ("quiet", "mirror"))
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            mirror.jvm().kill()
            wait_until(lambda: "starting it again" in mirror.log_text(), "the supervisor to notice", PATIENCE_SECONDS)
            stage.await_progress()
        stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    lines = mirror.log_text().splitlines()
    told = [line for line in lines if "ERROR quiet->mirror:" in line]
    assert len(told) == 1, mirror.log_text()
    assert "Spark's JVM has ended; its log is in " in told[0]
    foreign = [line for line in lines if not line.startswith(("20", "error: Spark's JVM has ended"))]
    assert not foreign, "\n".join(foreign)


def _checkpoints(mirror: MirrorProcess) -> list[Path]:
    return list(mirror.folder.glob("heliograph-spark-*/epochs-*"))


def _has_noted(mirror: MirrorProcess) -> bool:
    return any(path.is_file() for folder in _checkpoints(mirror) for path in folder.rglob("*"))


def _delete_checkpoints(mirror: MirrorProcess) -> None:
    assert _has_noted(mirror), "there was nothing to delete"
    for folder in _checkpoints(mirror):
        shutil.rmtree(folder)
