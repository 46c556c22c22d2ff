"""Last values of keys, whatever compaction has removed on either side."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from heliograph.kafka import batches, records
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.verification import compaction
from heliograph.recovery.verification.compaction import compare_last_values
from heliograph.recovery.verification.pairing import Pairing, Stretch

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)
TIME = 1_700_000_000_000

Item = tuple[str, str | None]


def log(items: Iterable[Item | None], first: int = 0) -> list[CommittedBatch]:
    """One batch an item, each at its offset; none: compaction has removed it."""
    found = []
    for offset, item in enumerate(items, first):
        if item is not None:
            value = None if item[1] is None else item[1].encode()
            data = records.encode([Record(0, TIME, item[0].encode(), value)])
            data[0:8] = offset.to_bytes(8, "big")
            view = memoryview(bytes(data))
            found.append(CommittedBatch(0, 2, batches.read_header(view), view))
    return found


def compared(
    source: Sequence[Item | None],
    target: Sequence[Item | None],
    later_source: Sequence[Item] = (),
    later_target: Sequence[Item] = (),
) -> Pairing:
    ours, theirs = log(source), log(target)
    more = log(later_source, 1000), log(later_target, 1000)
    return compare_last_values(
        lambda: Stretch(SOURCE, iter(ours), 0, 1000),
        lambda: Stretch(TARGET, iter(theirs), 0, 1000),
        lambda: (Stretch(SOURCE, iter(more[0]), 1000, 2000), Stretch(TARGET, iter(more[1]), 1000, 2000)),
    )


FULL: list[Item] = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("c", None), ("b", "2")]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (FULL, FULL),
        ([None, None, *FULL[2:]], FULL),
        (FULL, [None, None, *FULL[2:]]),
        ([None, FULL[1], FULL[2], None, FULL[4], FULL[5]], FULL),
        ([None, None, FULL[2], None, None, FULL[5]], FULL),  # the deletion itself is removed
        (FULL, [None, None, FULL[2], None, None, FULL[5]]),
    ],
)
def test_what_compaction_removes_is_no_difference(source: Sequence[Item | None], target: Sequence[Item | None]) -> None:
    assert compared(source, target).difference is None


@pytest.mark.parametrize(
    ("target", "key", "offset"),
    [
        ([*FULL[:5], ("b", "3")], b"b", 5),
        (FULL[:5], b"b", 5),
        ([*FULL[:2], *FULL[3:]], b"a", 2),
        ([*FULL[:4], FULL[5]], b"c", None),  # what was deleted lives on
        ([*FULL, ("d", "1")], b"d", None),
        ([*FULL, ("a", None)], b"a", 2),
    ],
)
def test_another_last_value_is_found(target: Sequence[Item], key: bytes, offset: int | None) -> None:
    found = compared(FULL, target).difference
    assert found is not None
    assert repr(key.decode()) in str(found)
    assert (found.source_record.offset if found.source_record else None) == offset


def test_a_key_that_was_written_again_behind_what_is_compared_cannot_be_judged() -> None:
    assert compared([("b", "1")], [("a", "1"), ("b", "1")], later_source=[("a", "2")]).difference is None
    assert compared([("a", "1"), ("b", "1")], [("b", "1")], later_target=[("a", "2")]).difference is None
    assert compared([("b", "1")], [("a", "1"), ("b", "1")], later_source=[("c", "2")]).difference is not None


def test_more_keys_than_memory_should_hold_are_compared_in_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "MOST_KEYS", 7)
    chance = random.Random(1)
    items: list[Item] = [(f"key {chance.randrange(100)}", str(n)) for n in range(400)]
    result = compared(items, items)
    assert (result.records, result.difference) == (400, None)
    for place in range(399, 300, -20):
        key = items[place][0]
        if all(item[0] != key for item in items[place + 1 :]):
            spoilt = [*items[:place], (key, "other"), *items[place + 1 :]]
            found = compared(items, spoilt).difference
            assert found is not None
            assert found.source_record is not None
            assert found.source_record.offset == place
