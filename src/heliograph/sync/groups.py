"""Group sync: groups of the target follow those of the source, so that consumers can move over at any time.

A group of the target is only ever moved forward, and never while it has members: then its own commits count. Groups
that vanish from the source stay on the target: a source that has lost its groups is what the target is there for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from heliograph.config.flow import FlowConfig
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Change, ChangeResult, Committed, GroupInfo, Groups, Offsets
from heliograph.model import TopicPartition
from heliograph.sync.translation import Offset, Translation, Translator


class SkipReason(Enum):
    """Why an offset of a group was not written to the target."""

    NOT_MIRRORED = "the topic is not mirrored"
    NO_TARGET = "the target has no such partition"
    HAS_MEMBERS = "the group has members on the target"
    NOT_BEHIND = "the group is as far on the target, or further"
    REFUSED = "the target refused it"


@dataclass(frozen=True)
class GroupPlan:
    """What to commit on the target, and how many offsets not, and why."""

    commits: Mapping[str, Offsets]
    skipped: Mapping[SkipReason, int]
    busy: tuple[str, ...] = ()


@dataclass(frozen=True)
class GroupSyncResult:
    """What became of one round."""

    groups: int
    written: Mapping[str, Offsets]
    inexact: int
    skipped: Mapping[SkipReason, int]
    busy: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def written_partitions(self) -> int:
        """How many offsets were written, over all groups."""
        return sum(len(offsets) for offsets in self.written.values())

    def __str__(self) -> str:
        text = f"{self.groups} groups, {self.written_partitions} offsets written ({self.inexact} not exact)"
        skips = [f"{count} skipped: {reason.value}" for reason, count in self.skipped.items()]
        return "; ".join([text, *skips, *(f"{name}: {reason}" for name, reason in self.refused.items())])


def plan_commits(
    wanted: Mapping[str, Offsets], listed: Mapping[str, GroupInfo], current: Mapping[str, Offsets]
) -> GroupPlan:
    """Which of the wanted offsets to commit, given the groups of the target and what those have committed."""
    commits: dict[str, Offsets] = {}
    skipped: Counter[SkipReason] = Counter()
    busy = tuple(sorted(name for name in wanted if name in listed and listed[name].has_members))
    for name, offsets in wanted.items():
        if name in busy:
            skipped[SkipReason.HAS_MEMBERS] += len(offsets)
            continue
        known = current.get(name, {})
        ahead = {
            where: item for where, item in offsets.items() if where not in known or known[where].offset < item.offset
        }
        skipped[SkipReason.NOT_BEHIND] += len(offsets) - len(ahead)
        if ahead:
            commits[name] = ahead
    return GroupPlan(commits, +skipped, busy)


class GroupSync:
    """The group sync of one flow; `run` is one round."""

    def __init__(self, flow: FlowConfig, opposite: FlowConfig | None = None) -> None:
        self._flow = flow
        self._translator = Translator(flow, opposite)
        self._source = access_for(flow.source, "admin")
        self._target = access_for(flow.target, "admin")

    def run(self) -> GroupSyncResult:
        """Read the groups of the source, and let those of the target follow."""
        with Groups(self._source) as groups:
            chosen = [name for name in groups.list() if self._flow.group_filter.should_replicate_group(name)]
            committed = groups.committed(chosen)
        with Admin(self._source) as source, Admin(self._target) as target:
            # After the commits were read: so that what these have consumed is in the ledger as far as it is mirrored.
            self._translator.read(source, target)
            pairs = {(where, item.offset) for offsets in committed.values() for where, item in offsets.items()}
            places = self._translator.translate(pairs, source, target)
        wanted = {name: dict(_translated(offsets, places)) for name, offsets in committed.items()}
        with Groups(self._target) as groups:
            plan = plan_commits(wanted, groups.list(), groups.committed(chosen))
            results = groups.commit(plan.commits)
        skipped = Counter(plan.skipped) + self._without_place(committed, places)
        return _result(committed, plan, results, skipped, places)

    def _without_place(
        self, committed: Mapping[str, Offsets], places: Mapping[Offset, Translation]
    ) -> Counter[SkipReason]:
        return Counter(
            SkipReason.NO_TARGET if self._translator.target_of(where) else SkipReason.NOT_MIRRORED
            for offsets in committed.values()
            for where, item in offsets.items()
            if (where, item.offset) not in places
        )


def _translated(offsets: Offsets, places: Mapping[Offset, Translation]) -> Iterator[tuple[TopicPartition, Committed]]:
    """A leader epoch of the source means nothing on the target; what a group noted beside its offset goes along."""
    for where, item in offsets.items():
        place = places.get((where, item.offset))
        if place is not None:
            yield place.target, Committed(place.offset, item.metadata)


def _result(
    committed: Mapping[str, Offsets],
    plan: GroupPlan,
    results: Mapping[str, Mapping[TopicPartition, ChangeResult]],
    skipped: Counter[SkipReason],
    places: Mapping[Offset, Translation],
) -> GroupSyncResult:
    failures = {
        (name, where): result
        for name, items in results.items()
        for where, result in items.items()
        if result.change is not Change.DONE
    }
    # Somebody may have joined since the groups were listed.
    late = {name for (name, _), result in failures.items() if result.change is Change.HAS_MEMBERS}
    for result in failures.values():
        skipped[SkipReason.HAS_MEMBERS if result.change is Change.HAS_MEMBERS else SkipReason.REFUSED] += 1
    written = {
        name: {where: item for where, item in offsets.items() if (name, where) not in failures}
        for name, offsets in plan.commits.items()
    }
    return GroupSyncResult(
        len(committed),
        {name: offsets for name, offsets in written.items() if offsets},
        _inexact(committed, written, places),
        dict(skipped),
        tuple(sorted({*plan.busy, *late})),
        {f"{name} {where}": item.reason for (name, where), item in failures.items() if name not in late},
    )


def _inexact(
    committed: Mapping[str, Offsets], written: Mapping[str, Offsets], places: Mapping[Offset, Translation]
) -> int:
    return sum(
        not place.is_exact and place.target in written.get(name, ())
        for name, offsets in committed.items()
        for where, item in offsets.items()
        if (place := places.get((where, item.offset))) is not None
    )
