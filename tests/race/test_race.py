"""Groups that stop on one cluster and go on with the other: every record once, whatever they lag behind."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.embedded.mirrormaker import MirrorMaker2
from tests.chaos.mirror_process import MirrorProcess
from tests.race.race import INTERVAL_SECONDS, Race, RaceResult
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

# A round of the group sync begins within one interval of a group's rest, and takes no longer than this.
_ROUND_SECONDS = 1.0


@contextmanager
def heliograph(settings: Path, folder: Path) -> Iterator[None]:
    mirror = MirrorProcess(settings, folder / "heliograph.log")
    try:
        yield
        assert mirror.stop() == 0, mirror.log_text()[-3000:]
    finally:
        mirror.kill()


def mirrormaker(settings: Path, folder: Path) -> MirrorMaker2:
    return MirrorMaker2(settings, folder / "mirrormaker")


def expect_exact(result: RaceResult) -> None:
    assert [(item.skipped, item.repeated, item.is_exact) for item in result.outcomes] == (
        [(0, 0, True)] * len(result.outcomes)
    ), result
    assert result.slowest is not None, result
    assert result.slowest <= INTERVAL_SECONDS + _ROUND_SECONDS, result


def test_every_group_processes_every_record_once(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster],
    tmp_path: Path,
    chance: random.Random,
    tell: Callable[[str], None],
) -> None:
    result = Race(cluster_pair, tmp_path, fresh_name("track"), chance).run("Heliograph", heliograph)
    tell(str(result))
    expect_exact(result)


@pytest.mark.oracle
@pytest.mark.long
def test_race_beside_mirrormaker(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster],
    tmp_path: Path,
    chance: random.Random,
    tell: Callable[[str], None],
) -> None:
    seed = chance.random()  # the same course for both
    ours = Race(cluster_pair, tmp_path, fresh_name("ours"), random.Random(seed)).run("Heliograph", heliograph)
    theirs = Race(cluster_pair, tmp_path, fresh_name("theirs"), random.Random(seed)).run("MirrorMaker 2", mirrormaker)
    tell(f"{ours}\n{theirs}")
    expect_exact(ours)
