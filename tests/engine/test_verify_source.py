"""Verification by Spark finds what verification in one process finds, and counts each slice once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.embedded.cluster import EmbeddedCluster
from heliograph.engine.verify_source import VerifyingSession
from heliograph.errors import EngineFailed
from heliograph.model import Run, TopicPartition
from heliograph.recovery.verification.plan import plan_verification
from heliograph.recovery.verification.verification import Progress
from tests.recovery.handmade_mirror import HandmadeMirror, in_batches, some_records
from tests.sync.moving import make_moving
from tests.zoo.topics import fresh_name

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def session() -> Iterator[VerifyingSession]:
    with VerifyingSession({}, 2) as session:
        yield session


def test_slices_are_compared_side_by_side(
    session: VerifyingSession, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    topic = fresh_name("sliced")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    records = some_records(200)
    spoilt = [*records[:150], records[150]._replace(key=b"other"), *records[151:]]
    mirror.write(in_batches(records, 10), in_batches(spoilt, 10))
    for first in range(0, 200, 50):
        mirror.enter([Run(first, first, 50)], byte_count=40 * 1024 * 1024)  # so it is said: each is a slice
    plan = plan_verification(mirror.moving.flow)
    assert len(plan.slices()) > 2
    told: list[Progress] = []
    result = session.verify(plan, told.append)
    [found] = result.differences
    assert found.source_record is not None
    assert (found.source_record.offset, found.fields) == (150, ["key"])
    assert told[-1].slices == told[-1].total_slices
    assert 150 <= result.records < 200


def test_a_failure_inside_spark_is_told_in_one_line(
    session: VerifyingSession, cluster_pair: tuple[EmbeddedCluster, EmbeddedCluster], tmp_path: Path
) -> None:
    topic = fresh_name("failing")
    mirror = HandmadeMirror.of(make_moving(tmp_path, cluster_pair, topic), topic)
    mirror.write(in_batches(some_records(5), 5), in_batches(some_records(5), 5))
    mirror.enter([Run(0, 0, 5)])
    plan = plan_verification(mirror.moving.flow)
    [planned] = plan.partitions
    lost = replace(planned, target=TopicPartition("nowhere", 0))
    with pytest.raises(EngineFailed, match=r"BrokerRefused.* nowhere") as failure:
        session.verify(replace(plan, partitions=[lost]))
    assert "\n" not in str(failure.value)
