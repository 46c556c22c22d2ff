"""Whatever is killed, whenever: nothing lost, nothing repeated, and mirroring goes on by itself."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.errors import TakenOver
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.outages import SOON_MISSED, restart
from tests.chaos.stage import PATIENCE_SECONDS, Stage
from tests.chaos.strikes import Strikes, die_at_every_step
from tests.running import Tell
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_OPTIONS = {"primary->backup.topics": "struck.*", "refresh.topics.interval.seconds": "1"}
_FEW = Strikes(worker=14, jvm=2, engine=2, whole=2)
_MANY = Strikes(worker=44, jvm=10, engine=10, whole=6, longest_calm=4, hasty=0.2)


_CLEAN_STOP_SECONDS = 15


@dataclass
class Scene:
    """A topic of each test's own, and the mirror that all of them share."""

    stage: Stage
    mirror: MirrorProcess

    def start_again(self) -> None:
        """A new mirror takes over."""
        self.mirror = self.stage.start()

    def await_recovery(self) -> None:
        """All partitions are mirrored again, soon."""
        self.stage.await_recovery()


@pytest.fixture(scope="module")
def clusters() -> Iterator[tuple[EmbeddedCluster, EmbeddedCluster]]:
    """Clusters of this module's own: its tests restart brokers."""
    specs = [ClusterSpec(alias, settings=SOON_MISSED) for alias in ("primary", "backup")]
    with running_clusters(*specs) as (primary, backup):
        yield primary, backup


@pytest.fixture(scope="module")
def shared(
    clusters: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """One mirror after another takes over; whatever was done to them, the last one ends in good order."""
    stage = Stage(clusters, tmp_path_factory.mktemp("kills"), fresh_name("struck"), options=_OPTIONS)
    scene = Scene(stage, stage.start())
    try:
        yield scene
        assert scene.mirror.stop() == 0
    finally:
        scene.mirror.kill()


@pytest.fixture
def scene(shared: Scene) -> Scene:
    """The mirror finds the topic of the test by itself."""
    shared.stage.turn_to(fresh_name("struck"))
    return shared


@short_and_long("strikes", _FEW, _MANY)
def test_every_part_is_killed_at_random_moments(
    scene: Scene, strikes: Strikes, chance: random.Random, tell: Tell
) -> None:
    """Workers most often, as they do the work; JVM and engine too."""
    began = time.monotonic()
    with scene.stage.load() as load:
        scene.stage.await_progress()
        slowest = strikes.fall_on(scene, chance)
    seconds = time.monotonic() - began
    equal = scene.stage.expect_equal(load.acknowledged)
    tell(f"{strikes} in {seconds:.0f} s, slowest recovery {slowest:.1f} s; {equal}")


@short_and_long("rounds", 1, 5)
def test_a_lane_that_dies_at_any_step_of_a_commit(scene: Scene, rounds: int) -> None:
    stage = scene.stage
    with stage.load() as load:
        stage.await_progress()
        die_at_every_step(stage, scene.mirror, rounds)
    stage.expect_equal(load.acknowledged)


@short_and_long("rounds", 1, 3)
def test_a_frozen_mirror_that_wakes_up_beside_a_new_one(scene: Scene, rounds: int) -> None:
    """The old one ends by itself, fenced, and has written nothing twice."""
    with scene.stage.load() as load:
        for _ in range(rounds):
            scene.stage.await_progress()
            _replace_while_frozen(scene)
        scene.stage.await_progress()
    scene.stage.expect_equal(load.acknowledged)


def _replace_while_frozen(scene: Scene) -> None:
    old = scene.mirror
    frozen = old.tree()
    for process in frozen:
        process.send_signal(signal.SIGSTOP)
    try:
        scene.start_again()
        scene.await_recovery()
        for process in reversed(frozen):
            process.send_signal(signal.SIGCONT)
        assert old.wait(PATIENCE_SECONDS) == TakenOver.exit_code
        assert "belongs to" in old.log_text()
    finally:
        old.kill()


@short_and_long("rounds", 1, 5)
def test_brokers_restart(scene: Scene, rounds: int) -> None:
    """The target's broker is killed, then the source's; the mirror needs no help."""
    stage = scene.stage
    with stage.load() as load:
        stage.await_progress()
        for cluster in (stage.target, stage.source) * rounds:
            restart(cluster)
            stage.await_recovery()
    assert load.acknowledged > 100
    stage.expect_equal(load.acknowledged)


@short_and_long("rounds", 1, 5)
def test_stop_and_start_again(scene: Scene, rounds: int) -> None:
    """A clean stop under load takes less than 15 s and ends with code 0; the next start goes on exactly there."""
    stage = scene.stage
    with stage.load() as load:
        for _ in range(rounds):
            stage.await_progress()
            assert scene.mirror.stop(_CLEAN_STOP_SECONDS) == 0
            scene.start_again()
        stage.await_recovery()
    stage.expect_equal(load.acknowledged)
