from __future__ import annotations

from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.recovery.flow_gate import FlowGate
from tests.recovery.move_stage import MoveStage, values
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_a_flow_without_transactions_is_closed_when_its_mirror_rests(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    stage = MoveStage(primary, backup, tmp_path, {"exactly.once.source.support": "disabled"})
    with stage.mirror():
        with stage.load() as load:
            stage.await_growth()
            FlowGate(stage.flow).close("test")
            arrived = values(backup, stage.copy)
            written = load.acknowledged
            wait_until(lambda: load.acknowledged > written + 1000, "records that must not arrive")
            assert values(backup, stage.copy) == arrived
        FlowGate(stage.flow).open()
        wait_until(
            lambda: sum(map(len, values(backup, stage.copy).values())) >= load.acknowledged, "all that had to wait", 60
        )
