from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka import batches, records
from heliograph.kafka.batches import ProducerStamp
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.model import TopicPartition
from heliograph.recovery.verification.difference import Difference
from heliograph.recovery.verification.pairing import Pairing, Stretch, compare_stretches

SOURCE, TARGET = TopicPartition("t", 0), TopicPartition("a.t", 0)
HERE, THERE = ProducerStamp(1, 0, False), ProducerStamp(9, 3, True)


def log(pieces: Iterable[Sequence[Record]], stamp: ProducerStamp, codec: int = 0, gap: int = 0) -> list[CommittedBatch]:
    """Batches of these records as a broker would keep them."""
    return _kept((records.encode(piece, stamp, 0, codec) for piece in pieces), gap)


def copied(source: Iterable[CommittedBatch], stamp: ProducerStamp, gap: int) -> list[CommittedBatch]:
    """The same batches as a lane copies them: to compress anew may give other bytes, gzip writes the time into them."""
    copies = [bytearray(batch.data) for batch in source]
    for data in copies:
        batches.restamp(memoryview(data), stamp, 0)
    return _kept(copies, gap)


def _kept(written: Iterable[bytearray], gap: int) -> list[CommittedBatch]:
    """Batches with offsets in a row; between them gaps, as markers leave them."""
    found, offset = [], 0
    for data in written:
        data[0:8] = offset.to_bytes(8, "big")
        view = memoryview(bytes(data))
        found.append(CommittedBatch(0, 2, batches.read_header(view), view))
        offset += batches.record_count(view) + gap
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
    ours = log(pieces(some(100), 7), HERE, codec)
    result = compared(ours, copied(ours, THERE, gap=1))
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


def test_opening_all_finds_what_equal_bytes_hide() -> None:
    """A checksum that does not fit is on both sides, or on one; the records are the same."""
    items = pieces(some(30), 10)
    for side in (0, 1):
        logs = [log(items, HERE), log(items, THERE)]
        spoilt = bytearray(logs[side][1].data)
        spoilt[17] ^= 1  # the first byte of the checksum
        view = memoryview(bytes(spoilt))
        logs[side][1] = CommittedBatch(0, 2, batches.read_header(view), view)
        assert compared(*logs).difference is None
        found = opened(*logs)
        assert found is not None
        assert "batch at offset 10 of the " + ("source", "target")[side] in str(found)
        assert "fails its checksum" in str(found)
        assert found.versions() == {}


def test_opening_all_finds_a_count_that_does_not_fit() -> None:
    data = bytearray(log([some(5)], HERE)[0].data)
    data[57:61] = (4).to_bytes(4, "big")
    data[23:27] = (3).to_bytes(4, "big")
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    view = memoryview(bytes(data))
    batch = CommittedBatch(0, 2, batches.read_header(view), view)
    assert compared([batch], [batch]).difference is None
    assert "batch at offset 0 of the source" in str(opened([batch], [batch]))


def opened(source: list[CommittedBatch], target: list[CommittedBatch]) -> Difference | None:
    end = 1 << 40
    sides = Stretch(SOURCE, iter(source), 0, end), Stretch(TARGET, iter(target), 0, end)
    return compare_stretches(*sides, opens_all=True).difference


def test_times_that_the_brokers_of_the_target_set_are_not_compared_and_counted() -> None:
    items = some(20)
    later = log(pieces([item._replace(timestamp=item.timestamp + 5) for item in items], 10), THERE)
    by_broker = [_with_attribute(batch, 0x08) for batch in later]
    result = compared(log(pieces(items, 7), HERE), by_broker)
    assert (result.records, result.difference, result.times_left_out) == (20, None, 20)
    same = [_with_attribute(batch, 0x08) for batch in log(pieces(items, 7), THERE)]
    result = compared(log(pieces(items, 7), HERE), same)
    assert (result.opened, result.difference, result.times_left_out) == (0, None, 20)
    assert compared(log(pieces(items, 7), HERE), later).difference is not None


def _with_attribute(batch: CommittedBatch, attribute: int) -> CommittedBatch:
    data = bytearray(batch.data)
    data[22] |= attribute
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    view = memoryview(bytes(data))
    return CommittedBatch(0, 2, batches.read_header(view), view)


def test_a_long_value_is_shown_around_its_first_differing_byte() -> None:
    value = b"x" * 5000
    items = [some(1)[0]._replace(value=value)]
    spoilt = [items[0]._replace(value=value[:3000] + b"\x07" + value[3001:])]
    found = compared(log([items], HERE), log([spoilt], THERE)).difference
    assert found is not None
    ours, theirs = found.versions()["value"]
    assert "5000 bytes, shown from 2980" in ours
    assert "\\x07" in theirs
    assert len(theirs) < 200


def test_a_whole_batch_with_other_times_is_found_though_its_bytes_are_the_same() -> None:
    items = some(30)
    spoilt = [item._replace(timestamp=item.timestamp + 5) if 10 <= n < 20 else item for n, item in enumerate(items)]
    found = compared(log(pieces(items, 10), HERE), log(pieces(spoilt, 10), THERE)).difference
    assert found is not None
    assert found.source_record is not None
    assert (found.source_record.offset, found.fields) == (10, ["timestamp"])


def test_times_that_the_brokers_of_the_source_set_become_those_of_the_records() -> None:
    items = [item._replace(timestamp=1_700_000_000_000) for item in some(20)]
    by_broker = [_with_attribute(batch, 0x08) for batch in log(pieces(items, 10), HERE)]
    assert compared(by_broker, log(pieces(items, 10), THERE)).difference is None
    late = [item._replace(timestamp=item.timestamp - 1) if n == 13 else item for n, item in enumerate(items)]
    assert compared(by_broker, log(pieces(late, 10), THERE)).difference is not None
    # The bytes of the records are those of their producer, with times that do not count any more.
    made = [item._replace(timestamp=item.timestamp - n % 10) for n, item in enumerate(items)]
    by_broker = [_with_attribute(batch, 0x08) for batch in log(pieces(made, 10), HERE)]
    assert compared(by_broker, log(pieces(made, 10), THERE)).difference is not None
