from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import OperationFailed
from heliograph.recovery.flow_gate import FlowGate
from heliograph.recovery.producers.fence import FenceWay
from heliograph.recovery.switchover import switchover
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.recovery.move_stage import QUICK, RECOVERY_SECONDS, MoveStage, values
from tests.recovery.steady_reader import SteadyReader
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

STEPS = ("check", "producers", "drain", "consumers", "groups", "verify", "close")


@pytest.fixture(scope="module")
def stage(moves: Mapping[str, MoveStage], mirror: MirrorProcess) -> MoveStage:
    """A topic that a running mirror has copied, and groups that lag."""
    stage = moves["switchover"]
    with stage.load():
        stage.await_growth()
        stage.commit_somewhere()
    return stage


def _contents(cluster: EmbeddedCluster, topic: str) -> list[list[bytes]]:
    return [[value for _, value in items] for items in values(cluster, topic).values()]


def test_a_dry_run_shows_all_steps_and_changes_nothing(stage: MoveStage) -> None:
    before = stage.committed(stage.target)

    planned = switchover(stage.config, stage.flow, replace(QUICK, fence=FenceWay.TOPIC)).preview()

    assert [step.name for step in planned] == list(STEPS)
    assert not any(step.outlook.problems for step in planned)
    assert all(step.outlook.text for step in planned)
    assert not FlowGate(stage.flow).is_closed
    assert stage.committed(stage.target) == before


def test_groups_go_on_exactly_where_they_were(stage: MoveStage) -> None:
    before = stage.rests(stage.source, [stage.topic])
    operation = switchover(stage.config, stage.flow, QUICK)

    assert operation.run().is_done

    assert stage.rests(stage.target, [stage.copy]) == before
    assert _contents(stage.target, stage.copy) == _contents(stage.source, stage.topic)
    rows = operation.details()["groups"]
    assert len(rows) == len(stage.groups) * 3
    assert all(row["exact"] for row in rows)


def test_a_closed_flow_copies_nothing_until_it_is_undone(stage: MoveStage) -> None:
    assert FlowGate(stage.flow).is_closed
    before = _contents(stage.target, stage.copy)
    with stage.load() as load:
        wait_until(lambda: load.acknowledged > 500, "records on the source")
    assert _contents(stage.target, stage.copy) == before
    with pytest.raises(OperationFailed, match=r"was stopped by an operation.*--undo"):
        switchover(stage.config, stage.flow, QUICK).run()
    assert FlowGate(stage.flow).is_closed  # what an earlier operation has finished is not put back by one that fails

    switchover(stage.config, stage.flow, QUICK).undo()

    stage.await_equal("what had to wait", RECOVERY_SECONDS)
    assert _contents(stage.target, stage.copy) == _contents(stage.source, stage.topic)


def test_producers_that_go_on_writing_stop_it_and_all_is_put_back(stage: MoveStage) -> None:
    with stage.load(), pytest.raises(OperationFailed, match=f"step producers.*{stage.topic}"):
        switchover(stage.config, stage.flow, replace(QUICK, patience_seconds=3)).run()
    assert not FlowGate(stage.flow).is_closed


def test_what_differs_stops_it_before_the_flow_is_closed(stage: MoveStage) -> None:
    operation = switchover(stage.config, stage.flow, replace(QUICK, fence=FenceWay.TOPIC))
    failing = next(step for step in operation._steps if step.name == "verify")
    failing.do = lambda _: (_ for _ in ()).throw(OperationFailed("two records differ"))  # type: ignore[method-assign]

    with pytest.raises(OperationFailed, match=r"step verify: two records differ; .* open to producers again"):
        operation.run()

    assert not FlowGate(stage.flow).is_closed
    with stage.load() as load:
        wait_until(lambda: load.acknowledged > 100, "records that the source takes again")


@short_and_long("rounds", 2, 10)
def test_nothing_is_lost_or_repeated_under_load(stage: MoveStage, rounds: int) -> None:
    for _ in range(rounds):
        readers = [SteadyReader(stage.new_group()) for _ in range(3)]
        with stage.load() as load:
            for reader in readers:
                reader.start(stage.source, stage.topic)
            wait_until(lambda: load.acknowledged > 600, "records on the source")
            operation = switchover(stage.config, stage.flow, replace(QUICK, fence=FenceWay.TOPIC))
            consumers = next(step for step in operation._steps if step.name == "consumers")
            wait = consumers.do

            def stop_them(tell: object, wait: object = wait, readers: object = readers) -> str:
                for reader in readers:  # type: ignore[attr-defined]
                    reader.stop()
                return wait(tell)  # type: ignore[operator,no-any-return]

            consumers.do = stop_them  # type: ignore[method-assign,assignment]
            operation.run()
            written = Counter(value for items in _contents(stage.source, stage.topic) for value in items)
        for reader in readers:
            reader.read_once(stage.target, stage.copy)
            assert Counter(reader.values) == written
        assert sum(written.values()) >= load.acknowledged
        switchover(stage.config, stage.flow, QUICK).undo()


@short_and_long("steps", ("producers", "groups", "close"), STEPS)
def test_a_run_that_is_killed_after_a_step_is_finished_by_the_next(stage: MoveStage, steps: tuple[str, ...]) -> None:
    for step in steps:
        stage.commit_somewhere(seed=len(step))
        stage.run_killed_after(step, "switchover", "--quiet", "0.5", "--fence", "topic", "--verify", "60")

        again = switchover(stage.config, stage.flow, replace(QUICK, fence=FenceWay.TOPIC)).run()

        assert again.is_done
        assert FlowGate(stage.flow).is_closed
        assert stage.rests(stage.target, [stage.copy]) == stage.rests(stage.source, [stage.topic])
        switchover(stage.config, stage.flow, QUICK).undo()
        with stage.load() as load:
            wait_until(lambda load=load: load.acknowledged > 100, "a source that takes records again")
