"""Whatever is killed, whenever: nothing lost, nothing repeated, and mirroring goes on by itself."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.errors import TakenOver
from tests.chaos import kill_runs
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.outages import SOON_MISSED, restart
from tests.chaos.reader_beside import ReaderBeside
from tests.chaos.stage import PATIENCE_SECONDS, Stage
from tests.chaos.strikes import Strikes, Toll, die_at_every_step
from tests.running import Tell, seeds
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_OPTIONS = {"primary->backup.topics": "struck.*", "refresh.topics.interval.seconds": "1"}
_KILLS = int(os.environ.get("HELIOGRAPH_KILLS", "500"))
_FEW = Strikes(worker=14, jvm=2, engine=2, whole=2)
_SECONDS_EACH = 10  # at most, on a busy machine: most kills are of workers

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

    def restart_broker(self, side: str) -> None:
        """Kill the broker of one side, and bring it back."""
        restart({"source": self.stage.source, "target": self.stage.target}[side])


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


_MANY = pytest.param(
    Strikes.many(_KILLS), id="long", marks=[pytest.mark.long, pytest.mark.timeout(600 + _SECONDS_EACH * _KILLS)]
)


@pytest.mark.parametrize("strikes", [pytest.param(_FEW, id="short"), _MANY])
def test_every_part_is_killed_at_random_moments(
    scene: Scene, strikes: Strikes, chance: random.Random, tell: Tell
) -> None:
    """Workers most often, as they do the work. Whoever reads the copies meanwhile sees all once, and in order."""
    stage, toll = scene.stage, Toll()
    began = time.monotonic()
    with kill_runs.written_down(seeds.choose(), toll) as notes, stage.load() as load:
        stage.await_progress()
        with ReaderBeside(stage.target.bootstrap_servers, stage.pairs.values()) as reader:
            strikes.fall_on(scene, chance, toll)
            seconds = time.monotonic() - began
            load.stop()
            equal = stage.expect_equal(load.acknowledged)
            notes.records = reader.expect_all_once(stage.source.bootstrap_servers, stage.pairs, PATIENCE_SECONDS)
    tell(f"{strikes} in {seconds:.0f} s, slowest recovery {toll.slowest:.1f} s; {equal}")
    tell(kill_runs.summed_up(kill_runs.read()))


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
