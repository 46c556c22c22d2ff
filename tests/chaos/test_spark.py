"""Spark's files can vanish and its JVM can die: the target knows how far the mirror is, and it goes on from there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, Stage, admin_of
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]


_ALIASES = ("running", "mirror")
_OPTIONS = {"running->mirror.topics": "unnoted.*", "refresh.topics.interval.seconds": "1"}


@dataclass
class Scene:
    """A topic of each test's own, and the mirror that all of them share."""

    stage: Stage
    mirror: MirrorProcess


@pytest.fixture(scope="module")
def shared(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One mirror after another takes over; the last one ends in good order, and leaves no files."""
    stage = Stage(cluster_pair, tmp_path_factory.mktemp("spark"), fresh_name("unnoted"), _ALIASES, _OPTIONS)
    scene = Scene(stage, stage.start())
    try:
        yield scene
        assert scene.mirror.stop() == 0
        assert not any(path.is_file() for folder in _checkpoints(scene.mirror) for path in folder.rglob("*"))
    finally:
        scene.mirror.kill()


@pytest.fixture
def scene(shared: Scene) -> Scene:
    """The mirror finds the topic of the test by itself."""
    shared.stage.turn_to(fresh_name("unnoted"))
    return shared


@short_and_long("rounds", 1, 5)
def test_checkpoints_deleted_while_the_mirror_runs(scene: Scene, rounds: int) -> None:
    """A new topic ends the epoch, which Spark then wants to note in a folder that is gone."""
    stage, mirror = scene.stage, scene.mirror
    with stage.load() as load:
        stage.await_progress()
        for _ in range(rounds):
            _delete_checkpoints(mirror)
            with admin_of(stage.source) as admin:
                admin.create_topics([NewTopic(fresh_name("unnoted"), 1, 1)])
            wait_until(lambda: _has_noted(mirror), "notes of Spark", PATIENCE_SECONDS)
            stage.await_recovery()
    stage.expect_equal(load.acknowledged)


def test_a_dead_jvm_is_told_in_our_own_words(scene: Scene) -> None:
    stage, mirror = scene.stage, scene.mirror
    with stage.load() as load:
        stage.await_progress()
        before = len(mirror.log_text())
        mirror.jvm().kill()
        wait_until(
            lambda: "starting it again" in mirror.log_text()[before:], "the supervisor to notice", RECOVERY_SECONDS
        )
        stage.await_recovery()
    stage.expect_equal(load.acknowledged)
    lines = mirror.log_text()[before:].splitlines()
    told = [line for line in lines if f"ERROR {'->'.join(_ALIASES)}:" in line]
    assert len(told) == 1, mirror.log_text()
    assert "Spark's JVM has ended; its log is in " in told[0]
    foreign = [line for line in lines if not line.startswith(("20", "error: Spark's JVM has ended"))]
    assert not foreign, "\n".join(foreign)


@short_and_long("rounds", 1, 3)
def test_checkpoints_deleted_while_the_mirror_is_down(scene: Scene, rounds: int) -> None:
    """A killed mirror leaves its checkpoints behind, one that is stopped leaves nothing."""
    stage = scene.stage
    with stage.load() as load:
        for _ in range(rounds):
            stage.await_progress()
            scene.mirror.kill()
            _delete_checkpoints(scene.mirror)
            scene.mirror = stage.start()
            stage.await_recovery()
    stage.expect_equal(load.acknowledged)


def _checkpoints(mirror: MirrorProcess) -> list[Path]:
    return list(mirror.folder.glob("heliograph-spark-*/epochs-*"))


def _has_noted(mirror: MirrorProcess) -> bool:
    return any(path.is_file() for folder in _checkpoints(mirror) for path in folder.rglob("*"))


def _delete_checkpoints(mirror: MirrorProcess) -> None:
    assert _has_noted(mirror), "there was nothing to delete"
    for folder in _checkpoints(mirror):
        shutil.rmtree(folder)
