from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import ClusterSpec, EmbeddedCluster, running_clusters
from heliograph.errors import StepFailed
from heliograph.recovery.failback import TailOptions, failback
from heliograph.recovery.failover import failover
from tests.chaos.forms import short_and_long
from tests.chaos.outages import SOON_MISSED, bring_back
from tests.recovery.move_stage import PARTITIONS, QUICK, MoveStage, contents
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]


@pytest.fixture(scope="module")
def doomed() -> Iterator[EmbeddedCluster]:
    """A cluster whose broker may be killed."""
    with running_clusters(ClusterSpec("doomed", settings=SOON_MISSED)) as (cluster,):
        yield cluster


@short_and_long("steps", ("close", "groups"), ("check", "close", "survey", "groups"))
def test_a_source_that_dies_under_load(
    doomed: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    stage = MoveStage(doomed, backup, tmp_path)
    with stage.mirror() as mirror:
        with stage.load(2000):
            stage.await_growth()
            stage.commit_somewhere()
            stage.await_seen()
            before = {key: Counter(rest) for key, rest in stage.rests(doomed, [stage.topic]).items()}
            committed = stage.committed(doomed)
            doomed.brokers[0].process.kill()
        for step in steps:  # whoever runs it is killed, and it is run again
            stage.run_killed_after(step, "failover")
        began = time.monotonic()
        operation = failover(stage.config, stage.flow)
        assert operation.run().is_done
        assert time.monotonic() - began < 30

        rows = {(row["group"], row["partition"]): row for row in operation.details()["groups"]}
        assert len(rows) == len(stage.groups) * PARTITIONS
        arrived = contents(backup, stage.copy)
        for key, rest in stage.rests(backup, [stage.copy]).items():
            assert rows[key]["exact"]
            assert rows[key]["source_offset"] == next(
                item.offset for where, item in committed[key[0]].items() if where.partition == key[1]
            )
            # All that it had not read then and that has arrived, and nothing that it had read.
            assert before[key] & arrived <= Counter(rest)
            assert not (arrived - before[key]) & Counter(rest) - _later(before, arrived)
        loss = operation.details()
        assert loss["source_answers"] is False
        assert time.time() - loss["source_seen_at_ms"] / 1000 < 120

        bring_back(doomed)
        missing = contents(doomed, stage.topic) - arrived
        assert missing.total() >= loss["missing_records"]
        assert contents(backup, stage.copy) == arrived  # it has come back, and the mirror runs: nothing is copied
        assert mirror.engine().is_running()
        back = failback(stage.config, stage.flow, QUICK, TailOptions(tmp_path / "tail.jsonl"))
        assert back.run().is_done
        assert back.details()["tail"]["records"] == missing.total()
        wait_until(
            lambda: contents(backup, stage.copy) == contents(doomed, stage.topic), "the tail is mirrored now", 60, 0.5
        )


def _later(before: dict[tuple[str, int], Counter[bytes]], arrived: Counter[bytes]) -> Counter[bytes]:
    """What was written after we looked."""
    known: Counter[bytes] = Counter()
    for rest in before.values():
        known |= rest
    return arrived - known


def test_a_group_that_lives_on_the_target_is_left_alone_and_named(
    primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path
) -> None:
    stage = MoveStage(primary, backup, tmp_path)
    with stage.mirror():
        with stage.load():
            stage.await_growth()
            stage.commit_somewhere()
        stage.await_seen()
        alive = stage.groups[3]
        consumer = KafkaConsumer(
            stage.copy, bootstrap_servers=backup.bootstrap_servers, group_id=alive, auto_offset_reset="earliest",
            enable_auto_commit=False,
        )  # fmt: skip
        try:
            wait_until(lambda: bool(consumer.poll(500)) or bool(consumer.assignment()), "a member", 30)
            before = stage.committed(backup)
            operation = failover(stage.config, stage.flow)
            report = operation.run()
        finally:
            consumer.close()
    assert report.is_done
    rows = operation.details()["groups"]
    assert {row["group"] for row in rows if "has members" in row["outcome"]} == {alive}
    assert f"left: the group has members: {alive}" in report.steps[-1].text
    assert stage.committed(backup)[alive] == before[alive]


def test_a_flow_that_never_ran_is_told_so(primary: EmbeddedCluster, backup: EmbeddedCluster, tmp_path: Path) -> None:
    stage = MoveStage(primary, backup, tmp_path)
    step = failover(stage.config, stage.flow)._steps[0]
    with pytest.raises(StepFailed, match="has never run"):
        step.do(lambda _: None)
