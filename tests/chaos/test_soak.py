"""Steady load for ten minutes: everything is mirrored, and nothing grows but the target."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from tests.chaos.forms import LONG
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import Stage
from tests.running import Tell

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos, *LONG]

_SECONDS = 600
_SETTLED_AFTER = 180
_WINDOW = 30  # seconds whose median counts: single moments say little
_MOST_GROWTH = 1.2
_LEAST_PER_SECOND = 450  # of 500


def test_ten_minutes_of_steady_load_need_no_more_memory_than_three(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, tell: Tell
) -> None:
    stage = Stage(cluster_pair, tmp_path, "steady", ("soaked", "mirror"))
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            processes = mirror.engine(), mirror.jvm()
            seen = _memory_by_second(mirror)
            assert (mirror.engine(), mirror.jvm()) == processes, "it was started again"
        report = stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    early, late = _medians(seen[_SETTLED_AFTER:][:_WINDOW]), _medians(seen[-_WINDOW:])
    growth = {part: late[part] / early[part] for part in early}
    tell(f"{report}; megabytes {_megabytes(early)}, then {_megabytes(late)}")
    assert load.acknowledged >= _SECONDS * _LEAST_PER_SECOND
    assert max(growth.values()) <= _MOST_GROWTH, growth


def _memory_by_second(mirror: MirrorProcess) -> list[dict[str, int]]:
    """What the parts of the mirror hold, once a second."""
    seen = []
    began = time.monotonic()
    while time.monotonic() - began < _SECONDS:
        with suppress(psutil.NoSuchProcess):  # an idle worker may end
            seen.append(mirror.memory())
        time.sleep(1)
    return seen


def _medians(seen: Sequence[dict[str, int]]) -> dict[str, float]:
    return {part: median(sample[part] for sample in seen) for part in seen[0]}


def _megabytes(sizes: dict[str, float]) -> str:
    return ", ".join(f"{part} {size / 1e6:.0f}" for part, size in sizes.items())
