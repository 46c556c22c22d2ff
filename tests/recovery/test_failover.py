from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from kafka import KafkaConsumer

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.errors import StepFailed
from heliograph.model import SourceSight, TopicPartition
from heliograph.recovery.books import read_books
from heliograph.recovery.failback import TailOptions, failback
from heliograph.recovery.failover import failover
from tests.chaos.forms import short_and_long
from tests.chaos.mirror_process import MirrorProcess
from tests.chaos.outages import bring_back
from tests.chaos.stage import ends
from tests.recovery.move_stage import PARTITIONS, QUICK, RECOVERY_SECONDS, MoveStage, contents, values
from tests.waiting import wait_until

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.chaos]


@pytest.mark.parametrize("stage", ["doomed"], indirect=True)
@short_and_long("steps", ("close", "groups"), ("check", "close", "survey", "groups"))
def test_a_source_that_dies_under_load(
    stage: MoveStage, doomed: EmbeddedCluster, mirror: MirrorProcess, tmp_path: Path, steps: tuple[str, ...]
) -> None:
    backup = stage.target
    with stage.load(2000) as load:
        stage.await_growth()
        stage.commit_somewhere()
        stage.await_seen()
        before = {key: Counter(rest) for key, rest in stage.rests(doomed, [stage.topic]).items()}
        committed = stage.committed(doomed)
        with _frozen(mirror.living("worker")):  # what is written from now on does not arrive
            written = load.acknowledged
            wait_until(lambda: load.acknowledged > written + 1000, "records that nobody copies")
            known_ends, seen_at_ms = _await_sight(stage)
            doomed.brokers[0].process.kill()
            killed_at_ms = time.time() * 1000
    for step in steps:  # whoever runs it is killed, and it is run again
        stage.run_killed_after(step, "failover")
    began = time.monotonic()
    operation = failover(stage.config, stage.flow)
    assert operation.run().is_done
    assert time.monotonic() - began < RECOVERY_SECONDS

    details = operation.details()
    rows = {(row["group"], row["partition"]): row for row in details["groups"] if row["group"] in stage.groups}
    assert len(rows) == len(stage.groups) * PARTITIONS
    copied = values(backup, stage.copy)
    arrived = contents(backup, stage.copy)
    for key, rest in stage.rests(backup, [stage.copy]).items():
        assert rows[key]["exact"]
        assert rows[key]["source_offset"] == next(
            item.offset for where, item in committed[key[0]].items() if where.partition == key[1]
        )
        # All that it had not read then and that has arrived, and nothing that it had read.
        assert before[key] & arrived <= Counter(rest)
        assert not (arrived - before[key]) & Counter(rest) - _later(before, arrived)
    assert details["source_answers"] is False
    assert seen_at_ms <= details["source_seen_at_ms"] <= killed_at_ms + 1000

    bring_back(doomed)
    missing = contents(doomed, stage.topic) - arrived
    _expect_loss_as_told(details, known_ends, ends(doomed, stage.topic), copied)
    assert 0 < details["missing_records"] <= missing.total()
    assert f"at least {details['missing_records']:,} records" in operation.report.steps[2].text
    assert contents(backup, stage.copy) == arrived  # it has come back, and the mirror runs: nothing is copied
    assert mirror.engine().is_running()
    back = failback(stage.config, stage.flow, QUICK, TailOptions(tmp_path / "tail.jsonl"))
    assert back.run().is_done
    assert back.details()["tail"]["records"] == missing.total()
    stage.await_equal("the tail is mirrored now", RECOVERY_SECONDS)


@contextmanager
def _frozen(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Nobody of these does anything during the block."""
    for process in processes:
        process.suspend()
    try:
        yield
    finally:
        for process in processes:
            process.resume()


def _await_sight(stage: MoveStage) -> tuple[dict[TopicPartition, int], int]:
    """The ends of now, and the time of a look at the source which has found at least these and is written down."""
    wanted = ends(stage.source, stage.topic)
    told: list[SourceSight] = []

    def is_seen() -> bool:
        sight = read_books(stage.flow).tail.sight
        told[:] = [sight] if sight and all(sight.ends.get(where, 0) >= end for where, end in wanted.items()) else []
        return bool(told)

    wait_until(is_seen, "a look at the source that the ledger has", 30, 0.3)
    return wanted, told[0].at_ms


def _expect_loss_as_told(
    details: Mapping[str, Any],
    known_ends: Mapping[TopicPartition, int],
    true_ends: Mapping[TopicPartition, int],
    copied: Mapping[int, Sequence[object]],
) -> None:
    """The source has no gaps: as many offsets as records. At least what was known before the loss must be told."""
    rows = {TopicPartition(row["topic"], row["partition"]): row for row in details["partitions"]}
    assert rows.keys() == true_ends.keys()
    for where, row in rows.items():
        count = len(copied[where.partition])
        assert row["mirrored_to"] == count - 1
        assert known_ends[where] <= row["known_end"] <= true_ends[where]
        assert row["missing"] == row["known_end"] - count > 0
    assert details["missing_records"] == sum(row["missing"] for row in rows.values())


def _later(before: dict[tuple[str, int], Counter[bytes]], arrived: Counter[bytes]) -> Counter[bytes]:
    """What was written after we looked."""
    known: Counter[bytes] = Counter()
    for rest in before.values():
        known |= rest
    return arrived - known


@pytest.mark.parametrize("stage", ["aliases"], indirect=True)
def test_a_group_that_lives_on_the_target_is_left_alone_and_named(stage: MoveStage, backup: EmbeddedCluster) -> None:
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
