from __future__ import annotations

import pytest

from heliograph.recovery.flow_gate import FlowGate
from tests.recovery.move_stage import RECOVERY_SECONDS, MoveStage, contents, values
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.mark.parametrize("stage", ["at least once"], indirect=True)
def test_a_flow_without_transactions_is_closed_when_its_mirror_rests(stage: MoveStage) -> None:
    with stage.load() as load:
        stage.await_growth()
        FlowGate(stage.flow).close("test")
        arrived = values(stage.target, stage.copy)
        written = load.acknowledged
        wait_until(lambda: load.acknowledged > written + 1000, "records that must not arrive")
        assert values(stage.target, stage.copy) == arrived
    FlowGate(stage.flow).open()
    written_all = contents(stage.source, stage.topic)
    assert written_all.total() >= load.acknowledged
    wait_until(lambda: written_all <= contents(stage.target, stage.copy), "all that had to wait", RECOVERY_SECONDS, 0.5)
    assert contents(stage.target, stage.copy).keys() == written_all.keys()
