"""A mirror of three flows that is stopped and started again, while one target is down: what goes on, what is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.kafka.topics import NewTopic
from tests.chaos.forms import short_and_long
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess, MirrorRuns
from tests.chaos.outages import bring_back
from tests.chaos.stage import (
    PATIENCE_SECONDS,
    RECOVERY_SECONDS,
    Stage,
    admin_of,
    await_growth,
    copies,
    expect_equal,
    write_settings,
)
from tests.flows.watched import Watched
from tests.waiting import wait_until
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_PARTITIONS = 3
_LONGEST_PAUSE = 10
_OPTIONS = {
    "heartbeats.replication.enabled": "false",
    "offset.storage.partitions": "2",
    "tasks.max": "1",
    "task.shutdown.graceful.timeout.ms": "5000",
}


class _Scene:
    """`hub` is mirrored to `near` and `far`; beside it goes a flow that is asked again and again how it stands."""

    def __init__(self, primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, folder: Path) -> None:
        self.hub, self.near, self.far = primary, backup, spare
        self.early, self.late = fresh_name("half"), fresh_name("fan-out")
        aliases = (fresh_name("seen"), fresh_name("mirrored"))
        self.stage = Stage((primary, backup), folder, fresh_name("watched"), aliases, _OPTIONS)
        self.watched = Watched(self.stage, "->".join(aliases))
        clusters = {"hub": primary, "near": backup, "far": spare, aliases[0]: primary, aliases[1]: backup}
        topics = {f"hub->{target}.topics": f"{self.early}, {self.late}" for target in ("near", "far")}
        topics[f"{'->'.join(aliases)}.topics"] = self.stage.topic
        file = folder / "all.properties"
        write_settings(file, clusters, ["hub->near", "hub->far", "->".join(aliases)], {**topics, **_OPTIONS})
        self.mirrors = MirrorRuns(file)

    def load(self, topic: str) -> Load:
        """A topic of the hub, which is written to from now on."""
        with admin_of(self.hub) as admin:
            admin.create_topics([NewTopic(topic, _PARTITIONS, 1)])
        return Load(self.hub.bootstrap_servers, topic, _PARTITIONS, per_second=200)

    def expect_all(self, topic: str, count: int) -> None:
        """Both targets have every record, once."""
        for target in (self.near, self.far):
            pairs = copies(topic, f"hub.{topic}", _PARTITIONS)
            expect_equal(self.hub, target, pairs, count, self.stage.settings.parent / "mirror-2.log")


@short_and_long("attempts", 2, 5)
def test_a_target_that_is_down_holds_up_nobody_and_gets_all_later(
    primary: EmbeddedCluster, backup: EmbeddedCluster, spare: EmbeddedCluster, tmp_path: Path, attempts: int
) -> None:
    """It dies while the mirror runs, and is down when the next one starts.

    The flows that live are stopped in good order; what the other could not commit comes with the next start. All the
    while, `heliograph status` and `heliograph lag` tell the truth, whether the mirror lives or not.
    """
    scene = _Scene(primary, backup, spare, tmp_path)
    try:
        with scene.stage.load(), scene.load(scene.early) as load:
            scene.watched.await_first_records()
            scene.watched.expect_never_ran()
            with scene.mirrors.one() as mirror:
                _lose_a_target(scene, mirror)
            scene.watched.expect_growing_lag()
        with scene.mirrors.one() as mirror:
            with scene.load(scene.late) as later:
                _begin_without_a_target(scene, mirror, attempts)
            scene.expect_all(scene.late, later.acknowledged)
            scene.expect_all(scene.early, load.acknowledged)
            scene.watched.await_up_to_date()
            scene.watched.expect_up_to_date()
            assert mirror.stop() == 0
        scene.watched.expect_up_to_date()
    finally:
        bring_back(spare)


def _lose_a_target(scene: _Scene, mirror: MirrorProcess) -> None:
    """It holds up neither the other flows nor the end."""
    scene.stage.await_progress()
    scene.watched.expect_copying()
    for target in (scene.near, scene.far):
        await_growth(target, f"hub.{scene.early}")
    scene.far.brokers[0].process.kill()
    for _ in range(5):
        await_growth(scene.near, f"hub.{scene.early}", 20)
    assert mirror.stop(30) == 0


def _begin_without_a_target(scene: _Scene, mirror: MirrorProcess, attempts: int) -> None:
    """It holds up nobody at the start, and is tried again and again until it is there."""
    await_growth(scene.near, f"hub.{scene.late}")
    wait_until(lambda: len(_pauses(mirror)) >= attempts, f"{attempts} attempts in vain", PATIENCE_SECONDS)
    assert max(_pauses(mirror)) <= _LONGEST_PAUSE
    bring_back(scene.far)
    await_growth(scene.far, f"hub.{scene.late}", _LONGEST_PAUSE + RECOVERY_SECONDS)


def _pauses(mirror: MirrorProcess) -> list[float]:
    """How long the flow to the missing target has waited before each new attempt, in seconds."""
    return [float(found) for found in re.findall(r"hub->far: .*starting again in ([\d.]+) s", mirror.log_text())]
