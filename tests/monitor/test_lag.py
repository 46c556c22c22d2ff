"""Lag is what the source has and the target lacks, by the most exact facts there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.kafka.mm2.offset_sync import OffsetSync
from heliograph.model import Position, TopicPartition
from heliograph.monitor.lag import Method, PartitionFacts, PartitionLag, TopicLag, partition_lag

_WHERE = TopicPartition("orders", 2)
_ID = "6a9e9f0e-3c1b-4b57-9b7e-0d6a3f0a5b11"
_FACTS = PartitionFacts(_WHERE, start=0, end=100, target_end=60, topic_id=_ID)
_OURS = Position(79, target_offset=59, topic_id=_ID)
_MM2 = Position(69)
_SYNC = OffsetSync(_WHERE, upstream_offset=50, downstream_offset=30)


@pytest.mark.parametrize(
    ("facts", "method", "lag"),
    [
        (replace(_FACTS, position=_OURS), Method.POSITIONS, 20),
        (replace(_FACTS, position=_OURS, sync=_SYNC), Method.POSITIONS, 20),
        (replace(_FACTS, position=replace(_OURS, offset=99)), Method.POSITIONS, 0),
        (replace(_FACTS, position=_MM2), Method.POSITIONS, 30),
        (replace(_FACTS, position=_MM2, sync=_SYNC), Method.SYNCS, 20),
        (replace(_FACTS, position=Position(85), sync=_SYNC), Method.POSITIONS, 14),
        (replace(_FACTS, sync=_SYNC), Method.SYNCS, 20),
        (_FACTS, Method.ENDS, 40),
        (replace(_FACTS, target_end=130), Method.ENDS, 0),
        (replace(_FACTS, start=90), Method.ENDS, 10),
        (replace(_FACTS, target_end=0), Method.ENDS, 100),
        (replace(_FACTS, target_end=0, start=30), Method.ENDS, 70),
        (replace(_FACTS, target_end=None), Method.ABSENT, 100),
        (replace(_FACTS, target_end=None, start=30, position=_OURS), Method.ABSENT, 70),
    ],
)
def test_the_most_exact_facts_count(facts: PartitionFacts, method: Method, lag: int) -> None:
    found = partition_lag(facts)
    assert (found.method, found.lag_records, found.partition) == (method, lag, 2)


def test_positions_in_another_log_of_the_same_name_do_not_count() -> None:
    other = replace(_OURS, topic_id="11111111-2222-3333-4444-555555555555")
    assert partition_lag(replace(_FACTS, position=other)).method is Method.ENDS
    beyond = partition_lag(replace(_FACTS, position=Position(100)))
    assert (beyond.method, beyond.lag_records) == (Method.ENDS, 40)


def test_syncs_of_another_log_of_the_same_name_do_not_count() -> None:
    assert partition_lag(replace(_FACTS, sync=replace(_SYNC, upstream_offset=100))).method is Method.ENDS
    assert partition_lag(replace(_FACTS, sync=replace(_SYNC, downstream_offset=60))).method is Method.ENDS


def test_markers_on_the_target_never_make_the_lag_negative() -> None:
    assert partition_lag(replace(_FACTS, sync=_SYNC, target_end=95)).lag_records == 0


def test_records_that_the_source_has_deleted_are_no_lag() -> None:
    assert partition_lag(replace(_FACTS, position=_MM2, start=90)).lag_records == 10


def _lag(partition: int, end: int, method: Method) -> PartitionLag:
    return PartitionLag(partition, 4, 0, end, method)


def test_a_topic_lags_by_the_sum_and_is_as_exact_as_its_least_exact_partition() -> None:
    topic = TopicLag("t", "a.t", [_lag(0, 10, Method.POSITIONS), _lag(1, 7, Method.ENDS), _lag(2, 9, Method.SYNCS)])
    assert topic.lag_records == 14
    assert topic.method is Method.ENDS


def test_empty_partitions_do_not_make_a_topic_less_exact() -> None:
    topic = TopicLag("t", "a.t", [_lag(0, 10, Method.POSITIONS), _lag(1, 0, Method.ENDS)])
    assert topic.method is Method.POSITIONS
    assert TopicLag("t", "a.t", [_lag(1, 0, Method.ENDS)]).method is None


def test_the_lag_of_a_topic_is_unknown_while_a_partition_cannot_be_read() -> None:
    assert TopicLag("t", "a.t", [_lag(0, 10, Method.POSITIONS)], unreadable=[1]).lag_records is None
