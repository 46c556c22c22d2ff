"""What a position and a target that disagree mean; without brokers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.engine.loss import target_loss
from heliograph.errors import TargetCutBack
from heliograph.model import EventKind, Position, TopicPartition
from tests.engine.test_copying import Bench, large

TARGET = TopicPartition("primary.orders", 0)
WRITTEN = Position(29, 9, target_topic_id="one")


@pytest.mark.parametrize(
    ("position", "end", "topic_id"),
    [
        (WRITTEN, 10, "one"),
        (WRITTEN, 10, ""),
        (replace(WRITTEN, target_topic_id=""), 10, "two"),
        (replace(WRITTEN, target_offset=-1), 0, "two"),
    ],
    ids=["all-there", "cluster-without-ids", "older-position", "nothing-written"],
)
def test_where_nothing_tells_of_a_loss_there_is_none(position: Position, end: int, topic_id: str) -> None:
    assert target_loss(position, TARGET, end, topic_id) is None


@pytest.mark.parametrize(
    ("position", "end", "topic_id", "lost_from"),
    [
        (WRITTEN, 9, "one", 9),
        (WRITTEN, 9, "", 9),
        (WRITTEN, 100, "two", 0),
        (replace(WRITTEN, target_lost_from=4), 100, "one", 4),
    ],
    ids=["too-short", "too-short-without-ids", "another-topic", "noticed-before"],
)
def test_what_is_lost_is_told_with_its_range(position: Position, end: int, topic_id: str, lost_from: int) -> None:
    loss = target_loss(position, TARGET, end, topic_id)
    assert loss is not None
    assert (loss.kind, loss.from_offset, loss.to_offset, loss.resume_at) == (
        EventKind.TARGET_LOSS, lost_from, 10, 30,
    )  # fmt: skip


def test_a_copy_says_where_its_target_appended_again() -> None:
    bench = Bench()
    bench.accept(large(0, 3), large(3, 2))
    bench.append(100)
    with pytest.raises(TargetCutBack) as lost:
        bench.append(102)
    assert lost.value.places == {TopicPartition("orders", 0): 102}


def test_a_position_names_the_topic_that_was_written_to() -> None:
    bench = Bench()
    bench.target.topic_id = "one"
    bench.accept(large(0, 3))
    bench.append(100)
    assert bench.copy.take_progress()[1].target_topic_id == "one"
