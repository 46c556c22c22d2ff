from __future__ import annotations

import pytest

from heliograph.control.ledger_tail import LedgerTail
from heliograph.control.standing import NO_LANE
from heliograph.kafka import batches, records
from heliograph.kafka.reading import CommittedBatch
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import Event, EventKind, LedgerEntry, PartitionProgress, Run, TopicPartition

NOW = 1_800_000_000_000
HOUR = 3_600_000
ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)


def aside(where: TopicPartition, reason: str = "too large") -> Event:
    return Event(EventKind.SET_ASIDE, where, 5, -1, reason)


def resumed(where: TopicPartition) -> Event:
    return Event(EventKind.RESUMED, where, 5, -1, "goes on")


def owner(name: str, when: int) -> Record:
    return Record(0, when, b"a->b", entries.encode_owner("a->b", name, when))


def copied(when: int, *events: Event, by: str = "me") -> Record:
    progress = PartitionProgress(TWO, TopicPartition("a.t", 2), (Run(0, 0, 30),), 29, 600, when)
    return Record(0, when, b"a->b", entries.encode_entry(LedgerEntry("a->b", 0, by, 7, when, (progress,), events)))


def standing(when: int, *events: Event, by: str = "me") -> Record:
    return Record(0, when, b"a->b", entries.encode_entry(LedgerEntry("a->b", NO_LANE, by, 7, when, (), events)))


def tail_of(*written: Record) -> LedgerTail:
    tail = LedgerTail(NOW)
    for record in written:
        data = memoryview(records.encode([record]))
        tail.add(CommittedBatch(0, 2, batches.read_header(data), data))
    return tail


def test_rates_count_the_last_minute_alone() -> None:
    tail = tail_of(copied(NOW - 60_001), copied(NOW - 60_000), copied(NOW - 1_000))
    assert (tail.records, tail.bytes, tail.last_commit_ms) == (60, 1200, NOW - 1_000)


def test_the_last_commit_may_be_long_ago() -> None:
    assert tail_of(copied(NOW - 50 * HOUR), standing(NOW - 1_000)).last_commit_ms == NOW - 50 * HOUR


def test_events_of_the_last_day_are_shown_and_what_the_driver_repeats_is_none() -> None:
    old, new = aside(ONE, "old"), aside(TWO, "new")
    tail = tail_of(copied(NOW - 25 * HOUR, old), copied(NOW - 23 * HOUR, new), standing(NOW - HOUR, old, new))
    assert tail.events == [new]


def test_partitions_are_set_aside_until_they_go_on() -> None:
    assert tail_of(copied(NOW - HOUR, aside(ONE), aside(TWO))).set_aside == {ONE: "too large", TWO: "too large"}
    assert tail_of(copied(NOW - HOUR, aside(ONE)), copied(NOW, resumed(ONE))).set_aside == {}


def test_what_was_set_aside_before_the_part_that_was_read_is_known_from_the_driver() -> None:
    tail = tail_of(copied(NOW - HOUR), standing(NOW - HOUR + 60_000, aside(ONE)))
    assert tail.set_aside == {ONE: "too large"}
    assert tail.is_known


@pytest.mark.parametrize("late", [aside(ONE, "now"), resumed(ONE)])
def test_the_driver_may_not_have_heard_yet_what_a_lane_told(late: Event) -> None:
    told = tail_of(copied(NOW - HOUR), copied(NOW - 10, late), standing(NOW - 9, aside(ONE, "before")))
    assert told.set_aside == tail_of(copied(NOW - 10, late)).set_aside


def test_a_driver_that_speaks_right_at_the_beginning_is_not_enough() -> None:
    assert not tail_of(copied(NOW - 10_000), standing(NOW - 5_001)).is_known
    assert tail_of(copied(NOW - 10_000), standing(NOW - 5_000)).is_known


def test_progress_alone_says_nothing_of_what_is_set_aside() -> None:
    assert not tail_of(copied(NOW - HOUR, by="me"), copied(NOW)).is_known


def test_a_new_owner_begins_anew() -> None:
    tail = tail_of(copied(NOW - HOUR, aside(ONE), by="old"), owner("new", NOW - 9), copied(NOW, aside(TWO), by="new"))
    assert (tail.owner, tail.set_aside, tail.is_known) == ("new", {TWO: "too large"}, True)


def test_an_owner_who_says_so_again_begins_nothing_anew() -> None:
    tail = tail_of(owner("me", NOW - HOUR), copied(NOW - HOUR, aside(ONE)), owner("me", NOW - 9))
    assert (tail.owner, tail.set_aside, tail.is_known) == ("me", {ONE: "too large"}, False)


def test_what_a_former_owner_still_writes_counts_for_nothing() -> None:
    late = [copied(NOW, aside(ONE), by="old"), standing(NOW, aside(TWO), by="old")]
    tail = tail_of(copied(NOW - HOUR, by="old"), owner("new", NOW - 9), *late)
    assert (tail.owner, tail.set_aside) == ("new", {})


def test_the_owner_is_known_from_entries_when_the_record_lies_further_back() -> None:
    assert tail_of(copied(NOW, by="old"), copied(NOW, by="new")).owner == "new"
    assert tail_of(standing(NOW - HOUR, by="me")).owner == "me"
