"""Ledger records are read back whole, are small, and tell which version wrote them."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import MalformedRecord, NewerFormat
from heliograph.kafka import records
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.ledger.entries import Chores, Deal, Owner, ProducerId, ProducerPage
from heliograph.model import (
    ChoreState,
    Event,
    EventKind,
    LedgerEntry,
    OperationNote,
    PartitionProgress,
    Run,
    SourceSight,
    TopicPartition,
)

OFFSETS = st.integers(0, 2**62)
TIMES = st.integers(-1, 2**62)
RUNS = st.builds(Run, OFFSETS, OFFSETS, st.integers(1, 2**31))
NAMES = st.text(min_size=1, max_size=20)
COUNTS = st.sampled_from([0, 0, 1, 2**40])


@st.composite
def progress(draw: st.DrawFn) -> PartitionProgress:
    source = TopicPartition(draw(NAMES), draw(st.integers(0, 10**5)))
    name = draw(st.one_of(NAMES, NAMES.map(lambda prefix: f"{prefix}.{source.topic}"), st.just(source.topic)))
    target = TopicPartition(name, draw(st.sampled_from([source.partition, 0, 7])))
    runs = tuple(draw(st.lists(RUNS, max_size=4)))
    return PartitionProgress(
        source, target, runs, draw(OFFSETS), draw(OFFSETS), draw(TIMES), draw(TIMES), draw(TIMES),
        draw(st.one_of(st.just(-1), OFFSETS)), draw(COUNTS), draw(COUNTS),
    )  # fmt: skip


EVENTS = st.builds(
    Event, st.sampled_from(EventKind), st.builds(TopicPartition, NAMES, st.integers(0, 99)), TIMES, TIMES, st.text()
)
ENTRIES = st.builds(
    LedgerEntry, NAMES, st.integers(-1, 99), NAMES, TIMES, OFFSETS,
    st.lists(progress(), max_size=3).map(tuple), st.lists(EVENTS, max_size=2).map(tuple),
)  # fmt: skip


@given(ENTRIES)
def test_an_entry_is_read_back_whole(entry: LedgerEntry) -> None:
    assert entries.decode(entries.encode_entry(entry)) == entry


@given(st.sets(OFFSETS))
def test_pages_of_producer_ids_hold_all_of_them(ids: set[int]) -> None:
    pages = [entries.decode(record.value) for record in entries.producer_pages(ids, 5)]
    assert [number for page in pages if isinstance(page, ProducerPage) for number in page.numbers()] == sorted(ids)


def test_a_page_of_producer_ids_is_called_after_what_it_holds_and_is_small() -> None:
    one, same, other = (next(entries.producer_pages(ids, 5)) for ids in ({7, 9}, {9, 7}, {7, 8, 9}))
    assert one.key == same.key != other.key
    year = list(entries.producer_pages(range(4_000_000_000, 4_000_600_000, 3), 5))
    assert len(year) == 200
    assert sum(len(page.key or b"") + len(page.value or b"") for page in year) < 250_000


def test_the_record_of_a_packed_producer_id_goes_by_its_own_key() -> None:
    announced, removed = entries.producer_record("a->b", "me", 17, 5), entries.packed_producer_record(17, 6)
    assert (announced.key, removed.value) == (removed.key, None)
    assert entries.packed_producer_of(removed.key) == 17
    assert [entries.packed_producer_of(key) for key in (None, b"owner", b"producers 17")] == [None, None, None]


CHORE = ChoreState("groups", 60.0, 5, "", 0, "3 groups")
NOTE = OperationNote("failover", "id", "step", "done", "text", "me", 9)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (entries.encode_owner("a->b", "me", 5), Owner("me")),
        (entries.encode_owner("a->b", entries.operation_owner("failover"), 5), Owner("operation failover")),
        (entries.encode_deal("a->b", "me", 7, 5), Deal("me", 7)),
        (entries.encode_producer("a->b", "me", 17, 5), ProducerId(17)),
        (entries.encode_chores("a->b", "me", 5, [CHORE]), Chores((CHORE,))),
        (entries.encode_sight("a->b", "me", SourceSight(5, {TopicPartition("t", 1): 9})),
         SourceSight(5, {TopicPartition("t", 1): 9})),
        (entries.encode_note("a->b", NOTE), NOTE),
    ],
)  # fmt: skip
def test_every_other_kind_is_read_back_and_can_be_read_by_people(value: bytes, told: entries.Told) -> None:
    assert entries.decode(value) == told
    assert json.loads(value)["format"] == entries.FORMAT


def test_owners_that_only_want_the_mirror_to_hold_are_told_apart() -> None:
    assert Owner(entries.operation_owner("x")).is_operation
    assert not Owner("some host").is_operation


def test_producer_ids_stand_in_entries_and_in_records_of_their_own() -> None:
    told = [LedgerEntry("a->b", 0, "me", 7, 0), ProducerId(8), Owner("me"), None]
    assert [entries.producer_id_of(one) for one in told] == [7, 8, None, None]


def test_an_entry_of_version_0_1_0_is_read() -> None:
    """Word for word as that version wrote it."""
    value = (
        b'{"kind":"copied","flow":"A->B","lane":1,"owner":"me","producerId":17,"writtenAt":1000,"partitions":[{"topic":'
        b'"orders","partition":2,"target":"A.orders","runs":[[5,9,3]],"last":8,"bytes":120,"newest":999,"oldest":997,'
        b'"mean":998}],"events":[{"kind":"resumed","topic":"orders","partition":2,"from":5,"to":-1,'
        b'"reason":"goes on"}]}'
    )
    where = TopicPartition("orders", 2), TopicPartition("A.orders", 2)
    event = Event(EventKind.RESUMED, where[0], 5, -1, "goes on")
    part = PartitionProgress(*where, (Run(5, 9, 3),), 8, 120, 999, 997, 998)
    assert entries.decode(value) == LedgerEntry("A->B", 1, "me", 17, 1000, (part,), (event,))


@pytest.mark.parametrize("value", [b"\x02c", b"\x07", b'{"kind":"owner","format":2,"owner":"me"}'])
def test_records_of_a_newer_version_are_refused_with_advice(value: bytes) -> None:
    with pytest.raises(MalformedRecord, match=r"written by a newer version of Heliograph.*use the newer version"):
        entries.decode(value)


def test_where_a_record_of_a_newer_version_is_is_told() -> None:
    with pytest.raises(NewerFormat, match=r"^state-0, offset 17: the ledger has records of format 7,"):
        entries.read("state", Record(17, 0, b"owner", b"\x07"))


@pytest.mark.parametrize(
    "value",
    [
        b"{", b"{}}", b'{"kind":"owner"}', b'{"kind":"owner","format":"new","owner":"me"}',
        b'{"kind":"deal","owner":"me"}',
        b'{"kind":"chores","chores":[{"name":"lag","mood":"good"}]}', b'{"kind":"chores","chores":7}',
        b'{"kind":"seen","ends":[[1]],"writtenAt":1}', b'{"kind":"operation"}', b'{"kind":"copied"}', b"{\xff}",
    ],
)  # fmt: skip
def test_json_that_is_not_what_it_should_be_is_told_as_such(value: bytes) -> None:
    with pytest.raises(MalformedRecord, match=r"^t-0, offset 3: a record of the ledger is not what it should be"):
        entries.read("t", Record(3, 0, None, value))


def test_what_has_no_value_or_an_unknown_kind_says_nothing() -> None:
    assert entries.decode(None) is None
    assert entries.decode(b"") is None
    assert entries.decode(b'{"kind":"something else"}') is None


@settings(max_examples=300)
@given(ENTRIES, st.data())
def test_a_damaged_entry_is_told_as_such(entry: LedgerEntry, data: st.DataObject) -> None:
    """Cut off anywhere it is either refused, or what is left of it is read; nothing else is ever raised."""
    value = entries.encode_entry(entry)
    cut = value[: data.draw(st.integers(1, len(value)))]
    with suppress(MalformedRecord):
        assert isinstance(entries.decode(cut), LedgerEntry)


def _small(topic: str, partition: int, offset: int, runs: int = 1) -> PartitionProgress:
    made = tuple(Run(offset + 3 * number, offset + 2 * number, 2) for number in range(runs))
    where = TopicPartition(topic, partition)
    times = 1_731_950_000_000
    return PartitionProgress(
        where, where._replace(topic=f"primary.{topic}"), made, made[-1].source + 1, 230, times, times - 3, times - 1
    )


def _entry(*parts: PartitionProgress) -> LedgerEntry:
    return LedgerEntry("primary->backup", 1, "host-4711-0123abcd-3", 4012, 1_731_950_000_020, parts)


def test_an_entry_of_a_slow_flow_takes_about_a_hundred_bytes() -> None:
    """Version 0.1.0 took 328 for the same."""
    assert len(entries.encode_entry(_entry(_small("orders", 5, 123_456_789)))) < 110


@pytest.mark.parametrize(("partitions", "runs"), [(10_000, 1), (1, 100_000), (500, 200)])
def test_the_largest_entries_fit_in_a_record_of_a_megabyte(partitions: int, runs: int) -> None:
    """As of a lane of 10,000 partitions, or of a topic that was compacted to every third record."""
    parts = [_small(f"some.longer.topic-{number % 500}", number // 500, 10**9, runs) for number in range(partitions)]
    [value] = (entries.record("a->b", 0, entries.encode_entry(_entry(*parts))),)
    assert len(records.encode_own([value])) < 1_000_000
