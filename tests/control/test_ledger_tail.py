from __future__ import annotations

from collections.abc import Sequence

import pytest

from heliograph.control.ledger_tail import LedgerTail
from heliograph.control.standing import NO_LANE
from heliograph.kafka.records import Record
from heliograph.ledger import entries
from heliograph.model import ChoreState, Event, EventKind, LedgerEntry, PartitionProgress, Run, TopicPartition

NOW = 1_800_000_000_000
HOUR = 3_600_000
ONE, TWO = TopicPartition("t", 1), TopicPartition("t", 2)


def aside(where: TopicPartition, reason: str = "too large") -> Event:
    return Event(EventKind.SET_ASIDE, where, 5, -1, reason)


def resumed(where: TopicPartition) -> Event:
    return Event(EventKind.RESUMED, where, 5, -1, "goes on")


def owner(name: str, when: int = NOW - 2 * HOUR) -> Record:
    return entries.owner_record("a->b", name, when)


def copied(when: int, by: str = "me") -> Record:
    progress = PartitionProgress(TWO, TopicPartition("a.t", 2), (Run(0, 0, 30),), 29, 600, when)
    return entries.record("a->b", when, entries.encode_entry(LedgerEntry("a->b", 0, by, 7, when, (progress,))))


def happened(when: int, *events: Event, by: str = "me") -> Record:
    return entries.record("a->b", when, entries.encode_entry(LedgerEntry("a->b", 0, by, 7, when, (), events)))


def standing(when: int, *events: Event, by: str = "me") -> Record:
    return entries.standing_record(LedgerEntry("a->b", NO_LANE, by, -1, when, (), events))


def tail_of(state: Sequence[Record] = (), journal: Sequence[Record] = (), ledger: Sequence[Record] = ()) -> LedgerTail:
    tail = LedgerTail(NOW)
    for take, some in ((tail.add_state, state), (tail.add_to_journal, journal), (tail.add_to_ledger, ledger)):
        for record in some:
            take(record)
    return tail


def test_rates_count_the_last_minute_alone() -> None:
    tail = tail_of(ledger=[copied(NOW - 60_001), copied(NOW - 60_000), copied(NOW - 1_000)])
    assert (tail.records, tail.bytes, tail.last_commit_ms) == (60, 1200, NOW - 1_000)


def test_the_last_commit_may_be_long_ago() -> None:
    tail = tail_of([owner("me"), standing(NOW - 1_000)], ledger=[copied(NOW - 50 * HOUR)])
    assert (tail.last_commit_ms, tail.alive_ms) == (NOW - 50 * HOUR, NOW - 1_000)


def test_events_of_the_last_day_are_shown_and_what_the_driver_repeats_is_none() -> None:
    old, new = aside(ONE, "old"), aside(TWO, "new")
    journal = [happened(NOW - 25 * HOUR, old), happened(NOW - 23 * HOUR, new)]
    assert tail_of([owner("me"), standing(NOW - HOUR, old, new)], journal).events == [new]


def test_partitions_are_set_aside_until_they_go_on() -> None:
    both = happened(NOW - HOUR, aside(ONE), aside(TWO))
    assert tail_of([owner("me")], [both]).set_aside == {ONE: "too large", TWO: "too large"}
    assert tail_of([owner("me")], [both, happened(NOW, resumed(ONE), resumed(TWO))]).set_aside == {}


def test_what_was_set_aside_long_ago_is_known_from_the_state() -> None:
    tail = tail_of([owner("me", NOW - 1000 * HOUR), standing(NOW - 999 * HOUR, aside(ONE))])
    assert tail.set_aside == {ONE: "too large"}


def test_what_went_on_before_the_driver_wrote_is_not_set_aside_again_by_old_news() -> None:
    journal = [happened(NOW - HOUR, aside(ONE)), happened(NOW - HOUR + 1, resumed(ONE))]
    assert tail_of([owner("me"), standing(NOW - 60_000, aside(TWO))], journal).set_aside == {TWO: "too large"}


@pytest.mark.parametrize(("late", "expected"), [(aside(ONE, "now"), {ONE: "now"}), (resumed(ONE), {})])
def test_the_driver_may_not_have_heard_yet_what_a_lane_told(late: Event, expected: dict[TopicPartition, str]) -> None:
    state = [owner("me"), standing(NOW - 9, aside(ONE, "before"))]
    assert tail_of(state, [happened(NOW - 10, late)]).set_aside == expected


def test_a_new_owner_begins_anew() -> None:
    chores = entries.chores_record("a->b", "old", NOW - HOUR, [ChoreState("groups", 60.0, 1, "", 0, "")])
    state = [owner("old"), standing(NOW - HOUR, aside(ONE), by="old"), chores, owner("new", NOW - 9)]
    journal = [happened(NOW - HOUR, aside(ONE), by="old"), happened(NOW, aside(TWO), by="new")]
    tail = tail_of(state, journal)
    assert (tail.owner, tail.set_aside, tail.chores) == ("new", {TWO: "too large"}, ())


def test_an_owner_who_says_so_again_begins_nothing_anew() -> None:
    tail = tail_of([owner("me"), standing(NOW - HOUR, aside(ONE)), owner("me", NOW - 9)])
    assert (tail.owner, tail.set_aside) == ("me", {ONE: "too large"})


def test_what_a_former_owner_still_writes_counts_for_nothing() -> None:
    state = [owner("old"), owner("new", NOW - 9), standing(NOW, aside(TWO), by="old")]
    tail = tail_of(state, [happened(NOW, aside(ONE), by="old")])
    assert (tail.owner, tail.set_aside) == ("new", {})


def test_an_operation_that_closes_a_flow_is_no_sign_that_a_mirror_lives() -> None:
    state = [owner("me", NOW - HOUR), owner(entries.operation_owner("failover"), NOW)]
    tail = tail_of(state)
    assert (tail.owner, tail.alive_ms) == ("operation failover", NOW - HOUR)


def test_a_flow_that_only_version_0_1_0_has_run_is_owned_by_who_wrote_last() -> None:
    assert tail_of(ledger=[copied(NOW, by="old"), copied(NOW, by="new")]).owner == "new"
