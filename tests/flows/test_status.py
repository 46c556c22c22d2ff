"""How healthy a flow is called, and how late; what the commands tell of a real one is in test_restart.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.control.status import FlowStatus, Health, PartitionStatus
from heliograph.model import TopicPartition

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


@pytest.mark.parametrize(("position", "health"), [(7, Health.UP_TO_DATE), (6, Health.COPYING)])
def test_a_single_record_that_is_missing_is_lag(position: int, health: Health) -> None:
    partition = replace(_LEVEL, position=position, lag_seconds=0.5)
    flow = replace(_FLOW, partitions=[partition])
    assert (flow.health, flow.lag_records) == (health, 7 - position)
