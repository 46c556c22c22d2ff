"""Steady load for an hour: everything is mirrored, and nothing grows but the target."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from statistics import median

import psutil
import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import InternalTopics
from tests.aging.internal_bytes import begin, shown_since
from tests.aging.year import kept_after
from tests.chaos.forms import LONG
from tests.chaos.load import Load
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.stage import PARTITIONS, Stage
from tests.chaos.trend import Bound, growing, growth_per_hour
from tests.running import Tell

_SECONDS = int(os.environ.get("HELIOGRAPH_SOAK_SECONDS", "3600"))
pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos, LONG[0], pytest.mark.timeout(_SECONDS + 900)]

_PARTS = ("engine", "jvm", "worker")
_SETTLED = 0.4  # of the time: until then caches fill, and the ledger reaches the length that it keeps
_PER_SECOND, _ROUNDS_PER_SECOND = 600, 200  # each round goes to one partition, and makes a commit if lanes keep up
_LEAST_PER_SECOND = 540
_MB = 1e6
# Lines may rise by what is meant to grow, and by what chance makes of them. A heap is filled and emptied; a lane of a
# new epoch begins with little; the ledger is cut a segment of 16 MB at a time, and the map is compacted so.
_BOUNDS = {
    "internal bytes": Bound(per_hour=8 * _MB, by_chance=16 * _MB),
    "engine bytes": Bound(per_hour=8 * _MB, by_chance=4 * _MB),
    "jvm bytes": Bound(per_hour=16 * _MB, by_chance=16 * _MB),
    "worker bytes": Bound(per_hour=8 * _MB, by_chance=6 * _MB),
    **{f"{part} {what}": Bound(1, 2) for part in _PARTS for what in ("descriptors", "threads")},
}
_MOST_IN_A_YEAR = 2e9
_DAY = 24 * 3600

Sample = dict[str, float]
_TOPICS = InternalTopics(*(f"mm2-{kind.replace('_', '-')}.soaked.internal" for kind in InternalTopics._fields))


def test_steady_load_needs_no_more_late_than_early(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path, tell: Tell
) -> None:
    stage = Stage(cluster_pair, tmp_path, "steady", ("soaked", "mirror"))
    servers, target = stage.source.bootstrap_servers, stage.target
    mirror = stage.start()
    try:
        with Load(servers, stage.topic, PARTITIONS, _PER_SECOND, rounds_per_second=_ROUNDS_PER_SECOND) as load:
            stage.await_progress()
            processes, beginning = (mirror.engine(), mirror.jvm()), begin(target, _TOPICS)
            times, seen = _samples(mirror, target)
            assert (mirror.engine(), mirror.jvm()) == processes, "it was started again"
        report = stage.expect_equal(load.acknowledged)
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    shown = shown_since(beginning, target, _TOPICS)  # once stopped, so that the map has all
    for days in (1, 7, 365):
        kept = kept_after(shown, target_keeps_seconds=days * _DAY)
        tell(f"after a year of 200 commits/s, on a target that keeps {days} days, a replica holds {kept}")
    tell(f"computed from {shown}")
    settled = int(len(seen) * _SETTLED)
    times, seen = times[settled:], seen[settled:]
    tell(f"{_SECONDS} s, {report}; in an hour: {_shown(times, seen)}")
    assert load.acknowledged >= _SECONDS * _LEAST_PER_SECOND
    assert kept_after(shown).total <= _MOST_IN_A_YEAR
    assert not growing(times, seen, _BOUNDS)


def _samples(mirror: MirrorProcess, target: EmbeddedCluster) -> tuple[list[float], list[Sample]]:
    """What the parts of the mirror hold, and what it has written beside data, about once a second, and when."""
    times, seen = [], []
    began = time.monotonic()
    while (at := time.monotonic() - began) < _SECONDS:
        with suppress(psutil.NoSuchProcess, FileNotFoundError):  # an idle worker may end; brokers delete segments
            seen.append(_sample(mirror, target))
            times.append(at)
        time.sleep(1)
    return times, seen


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


def _shown(times: list[float], seen: list[Sample]) -> str:
    """Of each figure the median, and by how much it would grow."""
    return ", ".join(_line(name, times, [sample[name] for sample in seen]) for name in seen[0])


def _line(name: str, times: list[float], values: list[float]) -> str:
    unit, letter = (_MB, " MB") if name.endswith("bytes") else (1.0, "")
    return f"{name} {median(values) / unit:.0f}{letter} {growth_per_hour(times, values) / unit:+.1f}{letter}"
