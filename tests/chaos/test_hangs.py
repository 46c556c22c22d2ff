"""Whatever hangs or freezes is noticed and ended by the mirror itself: nothing lost, nothing repeated."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.jvm_watch import SILENCE_SECONDS as JVM_SILENCE_SECONDS
from heliograph.engine.pulse import SILENCE_SECONDS
from heliograph.engine.watchdog import ANSWER_SECONDS
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PATIENCE_SECONDS, RECOVERY_SECONDS, Stage, await_growth
from tests.waiting import is_gone, wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_ALIASES = ("hanging", "mirror")
_FLOW = "->".join(_ALIASES)
_OPTIONS = {f"{_FLOW}.topics": "hung.*", "refresh.topics.interval.seconds": "1"}


@dataclass
class Scene:
    """A topic of each test's own, and the mirror that all of them share."""

    stage: Stage
    mirror: MirrorProcess

    def await_recovery(self, unnoticed: float) -> None:
        """All partitions are mirrored again, soon after it can be noticed."""
        await_growth(self.stage.target, self.stage.copy, unnoticed + RECOVERY_SECONDS)


@pytest.fixture(scope="module")
def shared(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    """Whatever was done to it, the mirror ends in good order."""
    stage = Stage(cluster_pair, tmp_path_factory.mktemp("hangs"), fresh_name("hung"), _ALIASES, _OPTIONS)
    scene = Scene(stage, stage.start())
    try:
        yield scene
        assert scene.mirror.stop() == 0
    finally:
        scene.mirror.kill()


@pytest.fixture
def scene(shared: Scene) -> Scene:
    """The mirror finds the topic of the test by itself."""
    shared.stage.turn_to(fresh_name("hung"))
    return shared


def _arm(scene: Scene, fault: str) -> None:
    """Arm a fault point, and see a lane get there."""
    armed = scene.stage.faults / fault
    armed.touch()
    wait_until(lambda: not armed.exists(), f"a lane to get to {fault}", PATIENCE_SECONDS)


def test_lanes_that_hang_or_are_frozen_are_ended_and_go_on(scene: Scene) -> None:
    """One of both lanes hangs; so it is the other one that is frozen."""
    stage = scene.stage
    with stage.load() as load:
        stage.await_progress()
        before = len(scene.mirror.log_text())
        _arm(scene, "data-written.hang")
        _arm(scene, "committed.freeze")
        scene.await_recovery(SILENCE_SECONDS + ANSWER_SECONDS)
    stage.expect_equal(load.acknowledged)
    told = scene.mirror.log_text()[before:]
    assert f"{_FLOW}: lane " in told
    assert "it hangs at heliograph/engine/fault_points.py" in told
    assert "in _begin_commit" in told, "the stack"
    assert "it hangs at an unknown place, as it does not answer" in told
    assert not [process for process in scene.mirror.tree() if process.status() == psutil.STATUS_STOPPED]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_frozen_jvm_is_ended_and_the_mirror_started_again(scene: Scene) -> None:
    stage = scene.stage
    with stage.load() as load:
        stage.await_progress()
        jvm = scene.mirror.jvm()
        jvm.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_gone(jvm.pid), "the end of the JVM", JVM_SILENCE_SECONDS + RECOVERY_SECONDS)
        scene.await_recovery(PATIENCE_SECONDS)
    stage.expect_equal(load.acknowledged)
    assert "Spark's JVM has not answered" in scene.mirror.log_text()
