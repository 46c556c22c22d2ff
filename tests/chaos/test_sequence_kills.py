"""The same kills with lanes that write without transactions: nothing lost or repeated, for any consumer."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import pytest

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from tests.chaos.forms import short_and_long
from tests.chaos.outages import SOON_MISSED
from tests.chaos.stage import Stage
from tests.chaos.strikes import Strikes
from tests.chaos.test_kills import (  # noqa: F401 - the same tests, with the scene of this module
    Scene,
    test_a_frozen_mirror_that_wakes_up_beside_a_new_one,
    test_a_lane_that_dies_at_any_step_of_a_commit,
    test_brokers_restart,
    test_stop_and_start_again,
)
from tests.running import Tell
from tests.zoo import raw
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_OPTIONS = {
    "primary->backup.topics": "struck.*",
    "refresh.topics.interval.seconds": "1",
    "exactly.once.commit": "sequences",
}
_FEW = Strikes(worker=6, jvm=1, engine=1, whole=1)
_MANY = Strikes(worker=44, jvm=10, engine=10, whole=6, longest_calm=4, hasty=0.2)


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
def scene(shared: Scene) -> Iterator[Scene]:
    """The mirror finds the topic of the test by itself."""
    shared.stage.turn_to(fresh_name("struck"))
    yield shared
    # No consumer sees anything else, whatever its isolation level: nothing is in a transaction.
    for target in shared.stage.pairs.values():
        found = raw.fetch_batches(shared.stage.target.bootstrap_servers, target)
        assert found
        assert not any(header.is_transactional for header, _ in found if not header.is_control)


@short_and_long("strikes", _FEW, _MANY)
def test_every_part_is_killed_at_random_moments(
    scene: Scene, strikes: Strikes, chance: random.Random, tell: Tell
) -> None:
    began = time.monotonic()
    with scene.stage.load() as load:
        scene.stage.await_progress()
        slowest = strikes.fall_on(scene, chance)
    seconds = time.monotonic() - began
    equal = scene.stage.expect_equal(load.acknowledged)
    tell(f"{strikes} in {seconds:.0f} s, slowest recovery {slowest:.1f} s; {equal}")
