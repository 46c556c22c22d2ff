from __future__ import annotations

from heliograph.kafka import batches
from heliograph.kafka.aborted import AbortedTransactions
from tests.zoo import handmade


def of(producer_id: int, offset: int, count: int = 1) -> bytes:
    return handmade.data(offset, count, attributes=handmade.TRANSACTIONAL, producer_id=producer_id, epoch=0, sequence=0)


def visible(filtered: AbortedTransactions, *pieces: bytes) -> list[int]:
    """The base offsets of the batches that may be seen."""
    found = []
    for piece in pieces:
        header = batches.read_header(memoryview(piece))
        if not filtered.hides(memoryview(piece), header):
            found.append(header.base_offset)
    return found


def test_without_aborted_transactions_only_markers_are_hidden() -> None:
    pieces = [of(1, 0), handmade.data(1), handmade.marker(2, 1, commit=True), of(1, 3)]
    assert visible(AbortedTransactions(), *pieces) == [0, 1, 3]


def test_interleaved_transactions_are_told_apart_by_their_producers() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(2, 1)])
    pieces = [
        of(1, 0), of(2, 1, 3), of(1, 4), handmade.data(5), of(2, 6),
        handmade.marker(7, 1, commit=True), handmade.marker(8, 2, commit=False),
        of(2, 9), handmade.marker(10, 2, commit=True),
    ]  # fmt: skip
    assert visible(filtered, *pieces) == [0, 4, 5, 9]


def test_a_producer_that_aborts_twice_is_heard_between() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 6), (1, 0)])
    pieces = [
        of(1, 0, 2), handmade.marker(2, 1, commit=False), of(1, 3, 2), handmade.marker(5, 1, commit=True),
        of(1, 6), handmade.marker(7, 1, commit=False), of(1, 8),
    ]  # fmt: skip
    assert visible(filtered, *pieces) == [3, 8]


def test_data_before_the_first_aborted_offset_is_committed_data_of_the_same_producer() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 5)])
    assert visible(filtered, of(1, 0, 3), handmade.marker(3, 1, commit=True), of(1, 5)) == [0]


def test_a_transaction_that_began_before_the_fetch_is_hidden_from_its_middle_on() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 0)])
    assert visible(filtered, of(1, 40), handmade.data(41), handmade.marker(42, 1, commit=False), of(1, 43)) == [41, 43]


def test_each_response_brings_its_own_list() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 0)])
    assert visible(filtered, of(1, 0)) == []
    filtered.announce([(1, 0)])
    assert visible(filtered, of(1, 1)) == []
    filtered.announce([])
    assert visible(filtered, of(1, 3)) == [3]


def test_data_without_a_transaction_is_seen_whatever_its_producer() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 0)])
    assert visible(filtered, of(1, 0), handmade.data(1, producer_id=1, epoch=0, sequence=0)) == [1]


def test_a_marker_that_compaction_emptied_says_nothing() -> None:
    filtered = AbortedTransactions()
    filtered.announce([(1, 0)])
    attributes = handmade.CONTROL | handmade.TRANSACTIONAL
    emptied = handmade.batch(1, [], last_delta=0, attributes=attributes, producer_id=1, epoch=0)
    assert visible(filtered, of(1, 0), emptied, of(1, 2)) == []
