"""A flow as `heliograph status` and `heliograph lag` show it."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest

from heliograph.cli.main import main
from tests.chaos.stage import PARTITIONS, PATIENCE_SECONDS, Stage
from tests.waiting import wait_until


class Watched:
    """The only flow of a stage's file, which mirrors the stage's topic and nothing else."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage = stage
        self._name = name

    def await_first_records(self) -> None:
        """Wait until there is something to mirror."""
        wait_until(lambda: self.lags()[0]["end"] > 0, "the first records", PATIENCE_SECONDS)

    def await_up_to_date(self) -> None:
        """Wait until the mirror has caught up."""
        wait_until(lambda: self.flow()["health"] == "up to date", "the mirror to catch up", PATIENCE_SECONDS, 0.2)

    def expect_never_ran(self) -> None:
        """All is still to be done."""
        flow = self.flow()
        assert (flow["health"], flow["owner"], flow["partitions"]) == ("never ran", "", PARTITIONS)
        assert len(self.lags()) == PARTITIONS
        assert flow["lag_records"] > 0
        assert flow["lag_seconds"] > 0
        assert flow["records_per_second"] == 0
        assert all(item["mirrored_to"] == -1 and item["lag_records"] == item["end"] for item in self.lags())

    def expect_copying(self) -> None:
        """A mirror is at work, and has nothing to complain about."""
        wait_until(lambda: self.flow()["lag_seconds"] < 10, "what had piled up before the start", PATIENCE_SECONDS)
        flow = self.flow()
        assert flow["health"] in ("copying", "up to date")
        assert flow["owner"]
        assert flow["records_per_second"] > 0
        assert flow["bytes_per_second"] > 0
        assert not flow["events"]
        assert not flow["set_aside"]

    def expect_growing_lag(self) -> None:
        """Whoever reports nothing is not up to date: the numbers come from the clusters, not from the mirror."""
        wait_until(lambda: all(item["lag_records"] for item in self.lags()), "lag of all partitions", PATIENCE_SECONDS)
        first = self.flow()
        wait_until(lambda: self.flow()["lag_records"] > first["lag_records"] + 100, "more lag", PATIENCE_SECONDS)
        second = self.flow()
        assert first["lag_records"] > 0
        assert second["health"] in ("copying", "stalled")
        assert second["lag_seconds"] > first["lag_seconds"] > 0
        assert second["last_commit_ms"] == first["last_commit_ms"]
        behind = self.lags()
        assert [item["partition"] for item in behind] == list(range(PARTITIONS))
        assert all(item["lag_records"] == item["end"] - item["mirrored_to"] - 1 > 0 for item in behind)
        assert self._name in self._told("status", "table")
        assert f"{self._stage.copy}-{PARTITIONS - 1}" in self._told("lag", "table")

    def expect_up_to_date(self) -> None:
        """Nothing is left to be done."""
        flow = self.flow()
        assert (flow["health"], flow["lag_records"], flow["lag_seconds"]) == ("up to date", 0, 0)
        assert all(item["mirrored_to"] + 1 == item["end"] for item in self.lags())

    def flow(self) -> dict[str, Any]:
        """What `heliograph status` tells."""
        (flow,) = json.loads(self._told("status", "json"))
        assert flow["flow"] == self._name
        return dict(flow)

    def lags(self) -> list[dict[str, Any]]:
        """What `heliograph lag` tells, partition by partition."""
        rows = list(json.loads(self._told("lag", "json")))
        assert {row["topic"] for row in rows} == {self._stage.topic}
        return rows

    def _told(self, command: str, output: str) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed), pytest.raises(SystemExit) as ended:
            main([command, str(self._stage.settings), "-o", output])
        assert not ended.value.code
        return printed.getvalue()
