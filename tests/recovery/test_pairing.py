from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka import batches, records
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.pairing import Pairing, Stretch, compare_stretches

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)
HERE, THERE = ProducerStamp(1, 0, False), ProducerStamp(9, 3, True)


def log(pieces: Iterable[Sequence[Record]], stamp: ProducerStamp, codec: int = 0, gap: int = 0) -> list[CommittedBatch]:
    """Batches as a broker would keep them, with offsets in a row; between them gaps, as markers leave them."""
    found, offset = [], 0
    for piece in pieces:
        data = records.encode(piece, stamp, 0, codec)
        data[0:8] = offset.to_bytes(8, "big")
        view = memoryview(bytes(data))
        found.append(CommittedBatch(0, 2, batches.read_header(view), view))
        offset += len(piece) + gap
    return found


def compared(source: list[CommittedBatch], target: list[CommittedBatch], first: int = 0, end: int = 1 << 40) -> Pairing:
    """The comparison of all of it, or of the source's from `first` on."""
    return compare_stretches(Stretch(SOURCE, iter(source), first, end), Stretch(TARGET, iter(target), 0, 1 << 40))


def some(count: int, seed: int = 1) -> list[Record]:
    """Different records."""
    chance = random.Random(seed)
    return [
        Record(0, 1_700_000_000_000 + n, b"k%d" % n, chance.randbytes(20), [("h", b"%d" % n)] if n % 3 else [])
        for n in range(count)
    ]


def pieces(items: Sequence[Record], size: int) -> list[Sequence[Record]]:
    return [items[start : start + size] for start in range(0, len(items), size)]


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_copied_batches_are_equal_and_none_is_opened(codec: int) -> None:
    items = pieces(some(100), 7)
    result = compared(log(items, HERE, codec), log(items, THERE, codec, gap=1))
    assert (result.records, result.opened, result.difference) == (100, 0, None)


def test_batches_built_anew_are_compared_record_by_record() -> None:
    items = some(100)
    result = compared(log(pieces(items, 7), HERE, 3), log(pieces(items, 12), THERE, 4))
    assert (result.records, result.difference) == (100, None)
    assert result.opened == 15


def test_after_batches_that_were_joined_the_next_ones_stay_closed() -> None:
    items = some(40)
    ours = log([items[:3], items[3:10], *pieces(items[10:], 10)], HERE)
    theirs = log([items[:10], *pieces(items[10:], 10)], THERE)
    result = compared(ours, theirs)
    assert (result.records, result.opened, result.difference) == (40, 2, None)


@pytest.mark.parametrize("size", [7, 12])
@pytest.mark.parametrize("place", [0, 50, 99])
@pytest.mark.parametrize(
    "fault", ["value", "key", "headers", "timestamp", "dropped", "repeated", "swapped", "tombstone"]
)
def test_every_single_fault_is_found_at_its_place(fault: str, place: int, size: int) -> None:
    items = some(100)
    spoilt = list(items)
    if fault == "dropped":
        del spoilt[place]
    elif fault == "repeated":
        spoilt.insert(place, spoilt[place])
    elif fault == "swapped":
        other = place + 1 if place < 99 else place - 1
        spoilt[place], spoilt[other] = spoilt[other], spoilt[place]
    elif fault == "tombstone":
        spoilt[place] = spoilt[place]._replace(value=None)
    else:
        value = spoilt[place].value or b""
        new = {"value": value[:-1] + bytes([value[-1] ^ 1]), "key": b"x", "headers": [("h", b"y")], "timestamp": 5}
        spoilt[place] = spoilt[place]._replace(**{fault: new[fault]})
    found = compared(log(pieces(items, 7), HERE), log(pieces(spoilt, size), THERE)).difference
    assert found is not None
    at = place + 1 if fault == "repeated" else place - 1 if fault == "swapped" and place == 99 else place
    assert (found.source_record or Record(100, 0, None, None)).offset == at
    assert str(found)
    if fault in ("value", "key", "headers", "timestamp"):
        assert found.fields == [fault]
        assert found.versions()[fault][0] != found.versions()[fault][1]


def test_a_part_of_a_batch_counts_from_its_first_offset() -> None:
    items = some(30)
    assert (
        compared(log(pieces(items, 10), HERE), log([items[4:10], items[10:20], items[20:]], THERE), 4).difference
        is None
    )
    assert compared(log(pieces(items, 10), HERE), log([items[3:]], THERE), 4).difference is not None


def test_what_lies_behind_the_end_does_not_count() -> None:
    items = some(30)
    result = compared(log(pieces(items, 10), HERE), log([items[:15]], THERE), end=15)
    assert (result.records, result.difference) == (15, None)


@given(st.lists(st.integers(1, 9), max_size=12), st.lists(st.integers(1, 9), max_size=12), st.integers(0, 4))
def test_however_batches_are_cut_the_same_records_are_equal(ours: list[int], theirs: list[int], codec: int) -> None:
    total = min(sum(ours), sum(theirs))
    items = some(total)

    def cut(sizes: list[int]) -> list[Sequence[Record]]:
        found, at = [], 0
        for size in sizes:
            if at < total:
                found.append(items[at : min(at + size, total)])
                at += size
        return found

    result = compared(log(cut(ours), HERE, codec), log(cut(theirs), THERE))
    assert (result.records, result.difference) == (total, None)
