"""`heliograph status` and `heliograph lag` tell the truth, whether the mirror lives or not."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heliograph.cli.main import main
from heliograph.control.status import FlowStatus, Health, PartitionStatus
from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.model import TopicPartition
from tests.chaos.stage import PARTITIONS, PATIENCE_SECONDS, Stage
from tests.waiting import wait_until

_NOW = 1_800_000_000_000
_BEHIND = PartitionStatus(TopicPartition("t", 0), TopicPartition("a.t", 0), position=4, end=8, lag_seconds=2.5)
_LEVEL = PartitionStatus(TopicPartition("t", 1), TopicPartition("a.t", 1), position=7, end=8, lag_seconds=0)
_FLOW = FlowStatus("a->b", "somebody", _NOW - 1000, 0, 0, [_LEVEL, _BEHIND], [], [], _NOW)


@pytest.mark.parametrize(
    ("flow", "health"),
    [
        (replace(_FLOW, partitions=[_LEVEL], last_commit_ms=_NOW - 3_600_000), Health.UP_TO_DATE),
        (_FLOW, Health.COPYING),
        (replace(_FLOW, last_commit_ms=_NOW - 29_999), Health.COPYING),
        (replace(_FLOW, last_commit_ms=_NOW - 30_000), Health.STALLED),
        (replace(_FLOW, owner=""), Health.NEVER_RAN),
    ],
)
def test_health_follows_from_lag_and_the_last_commit(flow: FlowStatus, health: Health) -> None:
    assert flow.health is health


def test_records_that_the_source_has_deleted_are_no_lag() -> None:
    assert replace(_BEHIND, position=-1).lag_records == 8
    assert replace(_BEHIND, position=-1, start=6).lag_records == 2
    assert replace(_BEHIND, position=9).lag_records == 0


def test_a_flow_is_as_late_as_its_latest_partition() -> None:
    assert _FLOW.lag_records == 3
    assert _FLOW.lag_seconds == 2.5


@pytest.mark.kafka
@pytest.mark.spark
def test_before_while_and_after_the_mirror_runs(
    cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    stage = Stage(cluster_pair, tmp_path, "watched", ("seen", "mirrored"))
    with stage.load():
        wait_until(lambda: _lags(stage)[0]["end"] > 0, "the first records", PATIENCE_SECONDS)
        _expect_never_ran(stage)
        mirror = stage.start()
        try:
            stage.await_progress()
            _expect_copying(stage)
            assert mirror.stop() == 0
        finally:
            mirror.kill()
        _expect_growing_lag(stage)
    mirror = stage.start()
    try:
        wait_until(lambda: _flow(stage)["health"] == "up to date", "the mirror to catch up", PATIENCE_SECONDS, 0.2)
        _expect_up_to_date(stage)
        assert mirror.stop() == 0
    finally:
        mirror.kill()
    _expect_up_to_date(stage)


def _expect_never_ran(stage: Stage) -> None:
    flow = _flow(stage)
    assert (flow["health"], flow["owner"], flow["partitions"]) == ("never ran", "", len(_all_lags(stage)))
    assert len(_lags(stage)) == PARTITIONS
    assert flow["lag_records"] > 0
    assert flow["lag_seconds"] > 0
    assert flow["records_per_second"] == 0
    assert all(item["mirrored_to"] == -1 and item["lag_records"] == item["end"] for item in _lags(stage))


def _expect_copying(stage: Stage) -> None:
    wait_until(lambda: _flow(stage)["lag_seconds"] < 10, "what had piled up before the start", PATIENCE_SECONDS)
    flow = _flow(stage)
    assert flow["health"] in ("copying", "up to date")
    assert flow["owner"]
    assert flow["records_per_second"] > 0
    assert flow["bytes_per_second"] > 0
    assert not flow["events"]
    assert not flow["set_aside"]


def _expect_growing_lag(stage: Stage) -> None:
    """Whoever reports nothing is not up to date: the numbers come from the clusters, not from the mirror."""
    wait_until(lambda: all(item["lag_records"] for item in _lags(stage)), "lag of all partitions", PATIENCE_SECONDS)
    first = _flow(stage)
    wait_until(lambda: _flow(stage)["lag_records"] > first["lag_records"] + 100, "more lag", PATIENCE_SECONDS)
    second = _flow(stage)
    assert first["lag_records"] > 0
    assert second["health"] in ("copying", "stalled")
    assert second["lag_seconds"] > first["lag_seconds"] > 0
    assert second["last_commit_ms"] == first["last_commit_ms"]
    behind = _lags(stage)
    assert [item["partition"] for item in behind] == list(range(PARTITIONS))
    assert all(item["lag_records"] == item["end"] - item["mirrored_to"] - 1 > 0 for item in behind)
    assert "seen->mirrored" in _heliograph("status", stage, "table")
    assert f"{stage.copy}-{PARTITIONS - 1}" in _heliograph("lag", stage, "table")


def _expect_up_to_date(stage: Stage) -> None:
    flow = _flow(stage)
    assert (flow["health"], flow["lag_records"], flow["lag_seconds"]) == ("up to date", 0, 0)
    assert all(item["mirrored_to"] + 1 == item["end"] for item in _lags(stage))


def _flow(stage: Stage) -> dict[str, Any]:
    (flow,) = json.loads(_heliograph("status", stage, "json"))
    assert flow["flow"] == "seen->mirrored"
    return dict(flow)


def _lags(stage: Stage) -> list[dict[str, Any]]:
    return [row for row in _all_lags(stage) if row["topic"] == stage.topic]


def _all_lags(stage: Stage) -> list[dict[str, Any]]:
    """Also those of heartbeats topics, which other tests may have left on the shared clusters."""
    return list(json.loads(_heliograph("lag", stage, "json")))


def _heliograph(command: str, stage: Stage, output: str) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        main([command, str(stage.settings), "-o", output])
    assert not ended.value.code
    return printed.getvalue()
