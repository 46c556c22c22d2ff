from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from heliograph.kafka import ledger
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Run, TopicPartition

OFFSETS = st.integers(0, 2**62)
TIMES = st.integers(-1, 2**62)
RUNS = st.builds(Run, OFFSETS, OFFSETS, st.integers(1, 2**31))
NAMES = st.text(min_size=1, max_size=20)


@st.composite
def progress(draw: st.DrawFn) -> PartitionProgress:
    partition = draw(st.integers(0, 10**5))
    source, target = TopicPartition(draw(NAMES), partition), TopicPartition(draw(NAMES), partition)
    runs = tuple(draw(st.lists(RUNS, max_size=4)))
    return PartitionProgress(source, target, runs, draw(OFFSETS), draw(OFFSETS), draw(TIMES), draw(TIMES), draw(TIMES))


EVENTS = st.builds(
    Event, st.sampled_from(EventKind), st.builds(TopicPartition, NAMES, st.integers(0, 99)), OFFSETS, OFFSETS, st.text()
)
ENTRIES = st.builds(
    LedgerEntry, NAMES, st.integers(0, 99), NAMES, OFFSETS, OFFSETS,
    st.lists(progress(), max_size=3).map(tuple), st.lists(EVENTS, max_size=2).map(tuple),
)  # fmt: skip


@given(ENTRIES)
def test_an_entry_is_read_back_whole(entry: LedgerEntry) -> None:
    assert ledger.decode_entry(ledger.encode_entry(entry)) == entry


@given(ENTRIES)
def test_entries_and_owners_are_told_apart(entry: LedgerEntry) -> None:
    assert ledger.decode_owner(ledger.encode_entry(entry)) is None
    assert ledger.decode_entry(ledger.encode_owner(entry.flow, entry.owner, 5)) is None
    assert ledger.decode_owner(ledger.encode_owner(entry.flow, entry.owner, 5)) == entry.owner


def test_a_value_can_be_read_by_people_and_scripts() -> None:
    where = TopicPartition("orders", 2), TopicPartition("A.orders", 2)
    entry = LedgerEntry("A->B", 1, "me", 17, 1000, (PartitionProgress(*where, (Run(5, 9, 3),), 8, 120, 999, 997, 998),))
    assert json.loads(ledger.encode_entry(entry))["partitions"] == [
        {
            "topic": "orders",
            "partition": 2,
            "target": "A.orders",
            "runs": [[5, 9, 3]],
            "last": 8,
            "bytes": 120,
            "newest": 999,
            "oldest": 997,
            "mean": 998,
        }
    ]
    assert entry.record_count == 3
