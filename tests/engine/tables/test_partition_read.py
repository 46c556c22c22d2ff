"""What a partition brings, as rows; and what cannot be a row."""

from __future__ import annotations

from uuid import UUID

import pytest

from heliograph.engine.tables.columns import Gathered
from heliograph.engine.tables.partition_read import PartitionRead
from heliograph.errors import PartitionFailed
from heliograph.kafka.fetching import Fetched, FetchPoint
from heliograph.model import Assignment, TopicPartition
from tests.zoo import handmade

SOURCE, TARGET = TopicPartition("orders", 0), TopicPartition("primary.orders", 0)


def accept(*pieces: bytes) -> tuple[PartitionRead, Gathered]:
    point = FetchPoint("orders", UUID(int=1), 0, 0)
    read = PartitionRead(Assignment(SOURCE, TARGET), 0, point, 100, is_new=False)
    gathered = Gathered()
    data = memoryview(b"".join(pieces))
    try:
        read.accept(Fetched(point, 0, 100, 100, 0, None, -1, (), data), gathered)
    finally:
        assert gathered.take()["offset"].to_pylist() == [0, 1, 2]
        assert point.offset == 3
    return read, gathered


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (handmade.undecodable(3), "the batch at offset 3 cannot be read: "),
        (handmade.foreign_header(3), "the record at offset 3 has a header whose name is not UTF-8"),
    ],
    ids=["not to be unpacked", "foreign name"],
)
def test_what_cannot_be_a_row_stops_its_partition_right_before_it(bad: bytes, reason: str) -> None:
    with pytest.raises(PartitionFailed, match=reason):
        accept(handmade.data(0, 3), bad)
