"""Steady load for an hour: everything is mirrored, and nothing grows but the target."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
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

_SECONDS = int(os.environ.get("HELIOGRAPH_SOAK_SECONDS", "3600"))
pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos, LONG[0], pytest.mark.timeout(_SECONDS + 900)]

_PARTS = ("engine", "jvm", "worker")
_SETTLED = 0.4  # of the time: until then caches fill, and the ledger reaches the length that it keeps
_WINDOW = 30  # samples whose median counts: single moments say little
_MOST_GROWTH = 1.2
_LEDGER_SEGMENT = 16 * 1024 * 1024  # the ledger is cut a segment at a time
_LEAST_PER_SECOND = 450  # of 500

Sample = dict[str, float]


def test_steady_load_needs_no_more_late_than_early(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, tell: Tell
) -> None:
    stage = Stage(cluster_pair, tmp_path, "steady", ("soaked", "mirror"))
    mirror = stage.start()
    try:
        with stage.load() as load:
            stage.await_progress()
            processes = mirror.engine(), mirror.jvm()
            seen = _samples(mirror, cluster_pair[1])
            assert (mirror.engine(), mirror.jvm()) == processes, "it was started again"
        report = stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    early, late = _medians(seen[int(len(seen) * _SETTLED) :][:_WINDOW]), _medians(seen[-_WINDOW:])
    tell(f"{_SECONDS} s, {report}; early {_shown(early)}; late {_shown(late)}")
    assert load.acknowledged >= _SECONDS * _LEAST_PER_SECOND
    allowed = {name: value * _MOST_GROWTH for name, value in early.items()}
    allowed["internal bytes"] += _LEDGER_SEGMENT
    grown = {name: (early[name], late[name]) for name in early if late[name] > allowed[name]}
    assert not grown


def _samples(mirror: MirrorProcess, target: EmbeddedCluster) -> list[Sample]:
    """What the parts of the mirror hold, and what it has written beside data, once a second."""
    seen = []
    began = time.monotonic()
    while time.monotonic() - began < _SECONDS:
        with suppress(psutil.NoSuchProcess, FileNotFoundError):  # an idle worker may end; brokers delete segments
            seen.append(_sample(mirror, target))
        time.sleep(1)
    return seen


def _sample(mirror: MirrorProcess, target: EmbeddedCluster) -> Sample:
    sample: Sample = {"internal bytes": _bytes_of(target.brokers[0].spec.folder.glob("data/mm2-*/*.log"))}
    for part in _PARTS:
        living = mirror.living(part)
        sample[f"{part} bytes"] = max(process.memory_info().rss for process in living)
        sample[f"{part} descriptors"] = max(process.num_fds() for process in living)
        sample[f"{part} threads"] = max(process.num_threads() for process in living)
    return sample


def _bytes_of(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _medians(seen: Sequence[Sample]) -> Sample:
    return {name: median(sample[name] for sample in seen) for name in seen[0]}


def _shown(sample: Sample) -> str:
    return ", ".join(
        f"{name} {value / 1e6:.1f} M" if name.endswith("bytes") else f"{name} {value:.0f}"
        for name, value in sample.items()
    )
