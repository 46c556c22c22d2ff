"""Which of several places stands for what a group has committed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heliograph.kafka.groups import Committed
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupPlaces
from heliograph.sync.translation import Offset, Translation

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
MEETING, OTHER = TopicPartition("all-orders", 0), TopicPartition("other", 0)


@pytest.mark.parametrize(("first", "second", "earliest"), [(7, 9, FIRST), (9, 7, SECOND)])
def test_where_partitions_meet_in_one_the_earliest_place_counts(
    first: int, second: int, earliest: TopicPartition
) -> None:
    committed = {"billing": {FIRST: Committed(3, "one"), SECOND: Committed(4, "other")}}
    elsewhere: dict[Offset, list[Translation]] = {
        (FIRST, 3): [Translation(MEETING, first, True)],
        (SECOND, 4): [Translation(MEETING, second, True), Translation(OTHER, 1, False)],
    }
    found = {place.target: (where, item, place) for _, where, item, place in _places(committed, elsewhere).translated()}
    assert found == {
        MEETING: (earliest, committed["billing"][earliest], Translation(MEETING, 7, True)),
        OTHER: (SECOND, Committed(4, "other"), Translation(OTHER, 1, False)),
    }


def test_groups_do_not_know_each_other() -> None:
    committed = {"billing": {FIRST: Committed(3)}, "audit": {SECOND: Committed(4)}, "idle": {}}
    elsewhere = {(FIRST, 3): [Translation(MEETING, 7, True)], (SECOND, 4): [Translation(MEETING, 9, True)]}
    found = {(group, place.offset) for group, _, _, place in _places(committed, elsewhere).translated()}
    assert found == {("billing", 7), ("audit", 9)}


def test_where_one_place_may_be_missing_none_is_believed() -> None:
    """A later one than the earliest would let the group miss records."""
    committed = {"billing": {FIRST: Committed(3), SECOND: Committed(4)}}
    elsewhere = {(SECOND, 4): [Translation(MEETING, 9, True), Translation(OTHER, 1, True)]}
    found = replace(_places(committed, elsewhere), left_out={MEETING: "its source has no leader"})
    assert [place.target for *_, place in found.translated()] == [OTHER]


def _places(
    committed: dict[str, dict[TopicPartition, Committed]], elsewhere: dict[Offset, list[Translation]]
) -> GroupPlaces:
    """Places of records that transforms have sent to other topics than their own."""
    return GroupPlaces(committed, {}, elsewhere)
