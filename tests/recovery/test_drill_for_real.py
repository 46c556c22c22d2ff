"""The drill: load, twenty groups, `kill -9` of the source in mid-load, failover, the way back, and nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from heliograph.recovery.drill.drill import Drill
from heliograph.recovery.drill.names import DrillNames
from heliograph.recovery.drill.report import RTO_LIMIT_SECONDS
from heliograph.recovery.drill.scene import ForReal, Scene
from heliograph.recovery.drill.story import DrillOptions
from tests.recovery.drill_witness import Case, Sight, Witness

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]

_GROUPS = 20
_OPTIONS = DrillOptions(seconds=10, rate=600)
# Less than the load, so that the mirror is behind when the source is lost, and a tail is left.
_SLOW = "bandwidth.limit.bytes.per.second = 55000"
_IDENTITY = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param((_SLOW,), id="names with aliases"),
        pytest.param((_SLOW, _IDENTITY), id="same names", marks=pytest.mark.long),
    ],
)
def test_every_record_is_accounted_for_and_no_group_skips(
    doomed: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, settings: Sequence[str]
) -> None:
    source, target = doomed, backup
    names = DrillNames.fresh("primary", "backup", _GROUPS)
    file = _file(tmp_path, settings)
    scene = ForReal(file, names, {"primary": source, "backup": target}, _folder(tmp_path))
    drill = Drill(scene, replace(_OPTIONS, reports=tmp_path / "reports"))
    witness = Witness(source, target, names.topics, names.mark)
    drill.after_step = witness.see
    killed = source.brokers[0].process.pid

    report = drill.run()

    assert report.passed, report.faults
    assert drill.story.load.failure is not None, "the source was not lost in mid-load"
    assert source.brokers[0].process.pid != killed
    case = Case.of(witness, drill, scene.drill.copies)
    case.judge()
    assert case.lost, "nothing was lost, so that the tail was not put to the test"
    assert witness.times["failover"] - witness.times["loss"] < RTO_LIMIT_SECONDS
    assert report.account is not None
    assert report.account.lost == len(case.lost)
    assert len({row["group"] for row in case.failover_rows}) == _GROUPS
    _expect_the_judge_to_notice(case)
    _expect_files(report.write(tmp_path / "reports"), names.id)
    assert Scene.clean_up(scene).left == []  # others use the clusters too


def _expect_the_judge_to_notice(case: Case) -> None:
    """The same evidence with one fault in it."""
    with pytest.raises(AssertionError, match="the tail is not"):
        replace(case, tail=case.tail[1:]).judge()
    for step, message in (("failover", "skips records at the failover"), ("home", "skips records at the failback")):
        sight = case.sights[step]
        group, where, offset = next(_unread(case, step))
        places = {**sight.places, group: {**sight.places[group], where: offset + 1}}
        with pytest.raises(AssertionError, match=message):
            replace(case, sights={**case.sights, step: Sight(sight.log, places)}).judge()


def _unread(case: Case, step: str) -> Iterator[tuple[str, TopicPartition, int]]:
    """Groups, and records that wait for them: whoever goes on behind one has skipped it."""
    sight = case.sights[step]
    for group in sorted(sight.places):
        known = case.known(step, group)
        for where, items in sight.log.items():
            yield from ((group, where, offset) for offset, number in items if number not in known)


def _expect_files(files: tuple[Path, Path], drill: str) -> None:
    page, data = files
    assert json.loads(data.read_text())["verdict"] == "pass"
    assert page.read_text().startswith(f"# Disaster recovery drill {drill}: PASS")


def _file(folder: Path, settings: Sequence[str]) -> Path:
    """Whose clusters are not asked: only what decides on names and speed counts."""
    file = folder / "mm2.properties"
    lines = ["clusters = primary, backup", "primary->backup.enabled = true", *settings]
    lines += [f"{alias}.bootstrap.servers = nowhere.invalid:9092" for alias in ("primary", "backup")]
    file.write_text("\n".join(lines) + "\n")
    return file


def _folder(folder: Path) -> Path:
    (folder / "drill").mkdir()
    return folder / "drill"
