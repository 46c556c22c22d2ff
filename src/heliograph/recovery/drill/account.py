"""The account of a drill: what was acknowledged, what arrived, what each group read, and what is wrong with that.

Nothing of this trusts the operations: it goes by what the clusters hold, and compares that with what was said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heliograph.model import TopicPartition
from heliograph.recovery.drill.content import Content, Found
from heliograph.recovery.drill.groups import CanaryGroup, Offsets
from heliograph.recovery.drill.load import Acked
from heliograph.recovery.wording import counted

_NOWHERE: Offsets = {}
_SHOWN = 3

Rows = Sequence[Mapping[str, Any]]  # what an operation says of groups, one offset a row


@dataclass
class Evidence:
    """All that was seen during a drill."""

    acked: Mapping[int, Acked] = field(default_factory=dict)  # by the source, before its loss
    acked_meanwhile: frozenset[int] = frozenset()  # by the target, during the outage
    lost_at_ms: int = 0
    groups: Sequence[CanaryGroup] = ()
    copies: Mapping[str, str] = field(default_factory=dict)  # of source topics
    mirrored: Content = field(default_factory=lambda: Content({}))  # on the target, when groups were set
    on_target: Content = field(default_factory=lambda: Content({}))  # at the end of the outage
    on_source: Content = field(default_factory=lambda: Content({}))  # at the very end
    tail: Sequence[int] = ()  # numbers in the saved tail
    set_on_target: Mapping[str, Offsets] = field(default_factory=dict)  # by the failover
    left_target_at: Mapping[str, Offsets] = field(default_factory=dict)  # committed before the failback
    set_on_source: Mapping[str, Offsets] = field(default_factory=dict)  # by the failback
    failover_rows: Rows = ()
    failback_rows: Rows = ()


@dataclass(frozen=True)
class Reading:
    """How one group went on after a move."""

    skipped: int
    again: int
    told: int  # how many it would read again at most, by the operation's own report
    beyond: int  # how many more than that, over all partitions
    misplaced: int = 0  # records on the wrong side of places that were said to be exact


@dataclass(frozen=True)
class GroupAccount:
    """One group through the whole drill."""

    group: str
    waiting_at_loss: int  # acknowledged records that it had not read
    failover: Reading
    failback: Reading


@dataclass(frozen=True)
class Account:
    """The figures of a drill."""

    acked: int
    mirrored: int
    lost: int  # acknowledged and not mirrored at the loss
    rpo_seconds: float
    in_tail: int
    acked_meanwhile: int
    groups: Sequence[GroupAccount]
    faults: Sequence[str]


def draw_up(evidence: Evidence) -> Account:
    """Put the account together, with all that is wrong."""
    lost = evidence.acked.keys() - evidence.mirrored.numbers
    oldest = min((evidence.acked[number].at_ms for number in lost), default=evidence.lost_at_ms)
    groups = [_group(evidence, group) for group in evidence.groups]
    return Account(
        len(evidence.acked),
        len(evidence.acked) - len(lost),
        len(lost),
        max(0, evidence.lost_at_ms - oldest) / 1000,
        len(evidence.tail),
        len(evidence.acked_meanwhile),
        groups,
        [*_record_faults(evidence), *(fault for item in groups for fault in _group_faults(item))],
    )


def _record_faults(evidence: Evidence) -> Iterator[str]:
    mirrored, tail, at_home = evidence.mirrored.numbers, set(evidence.tail), evidence.on_source.numbers
    checks = (
        (evidence.acked.keys() - mirrored - tail, "acknowledged, but neither mirrored nor in the saved tail"),
        (evidence.acked.keys() - at_home, "acknowledged, but gone from the source"),
        (tail & mirrored, "in the saved tail although mirrored"),
        (_repeated(evidence.tail), "in the saved tail more than once"),
        (evidence.mirrored.repeated(), "mirrored more than once"),
        (
            evidence.acked_meanwhile - at_home,
            "acknowledged by the target during the outage, but not on the source afterwards",
        ),
        (evidence.on_source.repeated(), "on the source more than once"),
    )
    for numbers, text in checks:
        if numbers:
            yield f"{text}: {_some(numbers)}"


def _repeated(numbers: Sequence[int]) -> list[int]:
    return [number for number, count in Counter(numbers).items() if count > 1]


def _some(numbers: Collection[int]) -> str:
    return f"{counted(len(numbers), 'record')}, such as {', '.join(map(str, sorted(numbers)[:_SHOWN]))}"


def _group_faults(item: GroupAccount) -> Iterator[str]:
    for move, reading in (("failover", item.failover), ("failback", item.failback)):
        skipped, beyond, misplaced = (
            counted(number, "record") for number in (reading.skipped, reading.beyond, reading.misplaced)
        )
        if reading.skipped:
            yield f"{item.group} skipped {skipped} at the {move}"
        if reading.beyond:
            yield f"{item.group} read {beyond} more again after the {move} than its report said"
        if reading.misplaced:
            yield f"{item.group} was said to be exact after the {move}, and is {misplaced} off"


def _group(evidence: Evidence, group: CanaryGroup) -> GroupAccount:
    before = evidence.on_source.before(group.read_to)
    return GroupAccount(
        group.name,
        len(evidence.acked.keys() - before),
        _after_failover(evidence, group, before),
        _after_failback(evidence, group, before),
    )


def _after_failover(evidence: Evidence, group: CanaryGroup, before: set[int]) -> Reading:
    places = evidence.set_on_target.get(group.name, _NOWHERE)
    told = _told_by_failover(evidence, group)
    skipped = evidence.mirrored.numbers - before - evidence.mirrored.since(places)
    misplaced = _misplaced(evidence.failover_rows, group, evidence.on_source, evidence.mirrored, places)
    return replace(_reading(evidence.mirrored, places, before, told, len(skipped)), misplaced=misplaced)


def _after_failback(evidence: Evidence, group: CanaryGroup, before: set[int]) -> Reading:
    places = evidence.set_on_source.get(group.name, _NOWHERE)
    left_at = evidence.left_target_at.get(group.name, _NOWHERE)
    passed = evidence.on_target.before(left_at)
    read_there = passed & evidence.on_target.since(evidence.set_on_target.get(group.name, _NOWHERE))
    told = {
        TopicPartition(row["target_topic"], row["partition"]): 0 if row["exact"] else int(row["waiting"])
        for row in evidence.failback_rows
        if row["group"] == group.name
    }
    skipped = evidence.on_source.numbers - before - read_there - evidence.on_source.since(places)
    misplaced = _misplaced(evidence.failback_rows, group, evidence.on_target, evidence.on_source, places)
    return replace(_reading(evidence.on_source, places, passed, told, len(skipped)), misplaced=misplaced)


def _misplaced(rows: Rows, group: CanaryGroup, left: Content, entered: Content, places: Offsets) -> int:
    """Behind an exact place there is all that the other cluster did not have before its offset, and nothing else."""
    count = 0
    for row in rows:
        source = TopicPartition(row["source_topic"], row["partition"])
        target = TopicPartition(row["target_topic"], row["partition"])
        if row["group"] == group.name and row["exact"]:
            there = entered.partitions.get(target, ())
            passed = {item.number for item in left.partitions.get(source, ()) if item.offset < row["source_offset"]}
            rest = {item.number for item in there if item.offset >= places.get(target, 0)}
            count += len(({item.number for item in there} - passed) ^ rest)
    return count


def _told_by_failover(evidence: Evidence, group: CanaryGroup) -> Offsets:
    """Where a place is exact, what was read behind the last commit that was seen; else anything from there on."""
    told: Offsets = {}
    for row in evidence.failover_rows:
        if row["group"] == group.name:
            source = TopicPartition(row["source_topic"], row["partition"])
            behind = max(0, group.read_to.get(source, 0) - int(row["source_offset"]))
            told[TopicPartition(row["target_topic"], row["partition"])] = behind if row["exact"] else row["waiting"]
    return told


def _reading(content: Content, places: Offsets, known: set[int], told: Offsets, skipped: int) -> Reading:
    again = {where: _again(records, places.get(where, 0), known) for where, records in content.partitions.items()}
    beyond = sum(max(0, count - told.get(where, 0)) for where, count in again.items())
    return Reading(skipped, sum(again.values()), sum(told.values()), beyond)


def _again(records: Sequence[Found], place: int, known: set[int]) -> int:
    return sum(found.offset >= place and found.number in known for found in records)
