"""Group sync: groups of the target follow those of the source, so that consumers can move over at any time.

A group of the target is only ever moved forward, and never while it has members: then its own commits count. Groups
that vanish from the source stay on the target unless asked otherwise: a source that has lost its groups is what the
target is there for. Even then only those go that hold what was put there and nothing else: a group with commits of its
own lives on the target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from heliograph.kafka.access import access_for
from heliograph.kafka.groups import Change, ChangeResult, Committed, GroupInfo, Groups, Offsets
from heliograph.model import TopicPartition
from heliograph.sync.group_offsets import GroupOffsets, GroupPlaces

_NAMED = 3  # of many partitions


class SkipReason(Enum):
    """Why an offset of a group was not written to the target."""

    NOT_MIRRORED = "the topic is not mirrored"
    NO_TARGET = "the target has no such partition"
    LEFT_OUT = "the partition cannot be asked where it ends"
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
    deleted: tuple[str, ...] = ()
    left_out: Mapping[TopicPartition, str] = field(default_factory=dict)

    @property
    def written_partitions(self) -> int:
        """How many offsets were written, over all groups."""
        return sum(len(offsets) for offsets in self.written.values())

    def __str__(self) -> str:
        text = f"{self.groups} groups, {self.written_partitions} offsets written ({self.inexact} not exact)"
        if self.deleted:
            text += f", {len(self.deleted)} groups deleted"
        skips = [f"{count} skipped: {reason.value}" for reason, count in self.skipped.items()]
        left_out = [f"left out: {where} ({why})" for where, why in sorted(self.left_out.items())[:_NAMED]]
        return "; ".join([text, *skips, *left_out, *(f"{name}: {reason}" for name, reason in self.refused.items())])


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


def is_as_put(put: Offsets, there: Offsets) -> bool:
    """Whether a group of the target holds offsets, and none but those that were put there."""
    return bool(there) and all(where in put and put[where].offset == item.offset for where, item in there.items())


class GroupSync:
    """The group sync of one flow; `run` is one round."""

    def __init__(self, offsets: GroupOffsets) -> None:
        self._offsets = offsets
        self._target = access_for(offsets.flow.target, "admin")
        self._follows_deletions = offsets.flow.get("sync.group.deletions.enabled") is True
        # For each group the furthest offsets that were wanted on the target, so that is what it has if it is only ours.
        self._put: dict[str, dict[TopicPartition, Committed]] = {}

    def run(self) -> GroupSyncResult:
        """Read the groups of the source, and let those of the target follow."""
        found = self._offsets.read()
        wanted = _wanted(found)
        with Groups(self._target) as groups:
            plan = plan_commits(wanted, groups.list(), groups.committed(list(wanted)))
            results = groups.commit(plan.commits)
            deletions = self._follow_deletions(groups, wanted)
        skipped = Counter(plan.skipped) + self._without_place(found)
        return _result(found, plan, results, skipped, deletions)

    def _follow_deletions(self, groups: Groups, wanted: Mapping[str, Offsets]) -> dict[str, ChangeResult]:
        """Delete what the source has no longer; not where it has nothing any more: it may have lost its groups."""
        if not self._follows_deletions:
            return {}
        gone = self._offsets.vanished(self._put.keys() - wanted.keys()) if wanted else set()
        there = groups.committed(gone)
        results = groups.delete([name for name in gone if is_as_put(self._put[name], there[name])])
        # Who has members may be without some later; who may not be deleted now may be later.
        waiting = {name for name, item in results.items() if item.change not in (Change.DONE, Change.NOT_THERE)}
        for name in gone - waiting:
            del self._put[name]
        self._remember(wanted)
        return results

    def _remember(self, wanted: Mapping[str, Offsets]) -> None:
        for name, offsets in wanted.items():
            put = self._put.setdefault(name, {})
            for where, item in offsets.items():
                if where not in put or put[where].offset < item.offset:
                    put[where] = item

    def _without_place(self, found: GroupPlaces) -> Counter[SkipReason]:
        return Counter(
            self._reason(found, where)
            for offsets in found.committed.values()
            for where, item in offsets.items()
            if (where, item.offset) not in found.places or found.places[where, item.offset].target in found.left_out
        )

    def _reason(self, found: GroupPlaces, where: TopicPartition) -> SkipReason:
        target = self._offsets.target_of(where)
        if target is None:
            return SkipReason.NOT_MIRRORED
        return SkipReason.LEFT_OUT if target in found.left_out else SkipReason.NO_TARGET


def _wanted(found: GroupPlaces) -> dict[str, Offsets]:
    """A leader epoch of the source means nothing on the target; what a group noted beside its offset goes along."""
    wanted: dict[str, dict[TopicPartition, Committed]] = {name: {} for name in found.committed}
    for group, _, item, place in found.translated():
        wanted[group][place.target] = Committed(place.offset, item.metadata)
    return dict(wanted)


def _result(
    found: GroupPlaces,
    plan: GroupPlan,
    results: Mapping[str, Mapping[TopicPartition, ChangeResult]],
    skipped: Counter[SkipReason],
    deletions: Mapping[str, ChangeResult],
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
        len(found.committed),
        {name: offsets for name, offsets in written.items() if offsets},
        _inexact(found, written),
        dict(skipped),
        tuple(sorted({*plan.busy, *late})),
        {f"{name} {where}": item.reason for (name, where), item in failures.items() if name not in late}
        | {name: item.reason for name, item in deletions.items() if item.change in (Change.DENIED, Change.REFUSED)},
        tuple(sorted(name for name, item in deletions.items() if item.change is Change.DONE)),
        found.left_out,
    )


def _inexact(found: GroupPlaces, written: Mapping[str, Offsets]) -> int:
    return sum(
        not place.is_exact and place.target in written.get(group, ()) for group, _, _, place in found.translated()
    )
