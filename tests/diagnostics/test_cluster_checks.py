"""A file and its clusters, as the doctor sees them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heliograph.config.mirror_config import load
from heliograph.diagnostics.cluster_checks import ClockOffset, check_cluster, measured_offset, read_file
from heliograph.diagnostics.observation import Verdict

if TYPE_CHECKING:
    from heliograph.embedded.cluster import EmbeddedCluster

GOOD = "clusters = a, b\na.bootstrap.servers = {0}\nb.bootstrap.servers = {0}\na->b.enabled = true\n"


def write(folder: Path, text: str) -> Path:
    file = folder / "mm2.properties"
    file.write_text(text)
    return file


def test_the_offset_is_that_of_the_middle_of_the_question() -> None:
    times = iter([100.0, 100.2])
    offset = measured_offset(lambda: 103_100, lambda: next(times))
    assert offset is not None
    assert offset.ahead_ms == pytest.approx(3000)
    assert offset.uncertainty_ms == pytest.approx(100)
    assert str(offset) == "3000 ms ahead of this machine (± 100 ms)"


def test_who_does_not_tell_the_time_has_no_offset() -> None:
    assert measured_offset(lambda: None) is None


@pytest.mark.parametrize(
    ("ahead", "uncertainty", "is_tolerable"),
    [(0, 0, True), (1000, 0, True), (1001, 0, False), (-1001, 0, False), (1400, 400, True), (-1500, 400, False)],
)
def test_only_what_cannot_be_the_way_of_the_answer_is_an_offset(
    ahead: float, uncertainty: float, is_tolerable: bool
) -> None:
    assert ClockOffset(ahead, uncertainty).is_tolerable is is_tolerable


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    config, seen = read_file(write(tmp_path, "clusters = a, b\na->b.enabled = perhaps\ntasks.max = none\n"))
    assert config is None
    failed = [item for item in seen if item.verdict is Verdict.FAILED]
    assert len(failed) >= 3
    assert any("a->b.enabled" in item.seen and "line 2" in item.seen for item in failed)


def test_a_good_file_is_told_with_its_flows_and_warnings(tmp_path: Path) -> None:
    text = GOOD.format("127.0.0.1:1") + "a->b.topics.blacklist = secret\n"
    config, seen = read_file(write(tmp_path, text))
    assert config is not None
    assert seen[0].verdict is Verdict.OK
    assert "a->b" in seen[0].seen
    assert {item.verdict for item in seen[1:]} == {Verdict.WARNING}
    assert any("topics.blacklist" in item.seen for item in seen)


def test_a_cluster_that_is_away_has_failed(tmp_path: Path) -> None:
    config = load(write(tmp_path, GOOD.format("127.0.0.1:1")))
    [seen] = check_cluster(config.clusters["a"])
    assert (seen.subject, seen.verdict) == ("cluster a", Verdict.FAILED)
    assert "127.0.0.1:1" in seen.seen
    assert seen.advice


@pytest.mark.kafka
def test_a_cluster_tells_its_versions_and_the_time(tmp_path: Path, primary: EmbeddedCluster) -> None:
    config = load(write(tmp_path, GOOD.format(primary.bootstrap_servers)))
    cluster, clock = check_cluster(config.clusters["a"])
    assert (cluster.subject, cluster.verdict) == ("cluster a", Verdict.OK)
    assert "Kafka 4." in cluster.seen
    assert "brokers: 1" in cluster.seen
    assert (clock.subject, clock.verdict) == ("clock of a", Verdict.OK)
    assert "of this machine" in clock.seen or "behind this machine" in clock.seen
