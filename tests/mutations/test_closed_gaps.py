"""What no other test noticed: each of these was written for a deliberate defect that had survived."""

from __future__ import annotations

import pytest

from heliograph.conflicts.candidate import Candidate
from heliograph.control.status import FlowStatus, Health, PartitionStatus
from heliograph.engine.dead_letters import dead_letter
from heliograph.errors import DataError
from heliograph.kafka.records import Record
from heliograph.model import Run, TopicPartition
from heliograph.transforms.chain import Failed
from tests.engine.test_copying import Bench, large
from tests.zoo import handmade

ORDERS = TopicPartition("orders", 3)


def test_batches_before_the_position_are_neither_copied_again_nor_move_it_back() -> None:
    bench = Bench(start=7)
    bench.accept(large(0, 3), handmade.data(3, 4))
    assert (bench.numbers(), bench.point.offset, bench.copy.has_moved) == ([], 7, False)
    bench.accept(large(3, 4), large(7, 2))
    assert (bench.numbers(), bench.point.offset) == ([[7, 8]], 9)
    bench.append(40)
    [progress], position = bench.copy.take_progress()
    assert (progress.runs, position.offset, position.target_offset) == ((Run(7, 40, 2),), 8, 41)


@pytest.mark.parametrize("shows_content", [True, False])
def test_a_dead_letter_without_content_has_nothing_of_the_record_but_its_place(shows_content: bool) -> None:
    record = Record(17, 1_000, b"a customer", b"her address", [("mail", b"hers")])
    letter = dead_letter(record, ORDERS, "a->b", Failed("mask", "MaskPII", DataError("not an object")), shows_content)
    told = {name: value for name, value in letter.headers if name.startswith("__connect.errors.")}
    assert told == {
        "__connect.errors.topic": b"orders",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"17",
        "__connect.errors.connector.name": b"a->b",
        "__connect.errors.stage": b"mask",
        "__connect.errors.class.name": b"MaskPII",
        "__connect.errors.exception.class.name": b"DataError",
        "__connect.errors.exception.message": b"not an object",
    }
    assert letter.timestamp == 1_000
    assert (letter.key, letter.value) == ((b"a customer", b"her address") if shows_content else (None, None))
    assert len(letter.headers) - len(told) == int(shows_content)


@pytest.mark.parametrize("reader", ["ap", "eu", "us"])
def test_of_equal_times_all_clusters_find_the_same_order(reader: str) -> None:
    """What a topic is called differs from cluster to cluster; where a record was written does not."""
    read = [
        Candidate(origin, "orders", "orders" if origin == reader else f"{origin}.orders", 0, offset, 7, b"k", b"v")
        for origin, offset in (("us", 1), ("ap", 9), ("eu", 5))
    ]
    assert [item.origin for item in sorted(read, key=lambda item: item.order)] == ["ap", "eu", "us"]


@pytest.mark.parametrize(("position", "health"), [(7, Health.UP_TO_DATE), (6, Health.COPYING)])
def test_a_single_record_that_is_missing_is_lag(position: int, health: Health) -> None:
    partition = PartitionStatus(ORDERS, ORDERS, position, end=8, lag_seconds=0.5)
    flow = FlowStatus("a->b", "somebody", 1_000_000, 0, 0, [partition], [], [], 1_000_100)
    assert (flow.health, flow.lag_records) == (health, 7 - position)
