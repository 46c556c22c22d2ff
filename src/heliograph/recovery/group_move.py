"""Sets groups on the cluster that they move to, and tells where each stands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from heliograph.kafka.access import Access
from heliograph.kafka.admin import Admin
from heliograph.kafka.groups import Change, ChangeResult, Committed, GroupInfo, Groups, Offsets
from heliograph.model import TopicPartition
from heliograph.recovery.wording import counted


class Outcome(Enum):
    """What became of one offset of a group."""

    SET = "set"
    IN_PLACE = "was there already"
    AHEAD = "left: is further on"
    HAS_MEMBERS = "left: the group has members"
    REFUSED = "refused"


@dataclass(frozen=True)
class GroupPlace:
    """One offset of a group: where it was, where it goes on, and how sure that is."""

    group: str
    source: TopicPartition
    source_offset: int
    target: TopicPartition
    target_offset: int
    is_exact: bool
    metadata: str = ""
    outcome: Outcome = Outcome.IN_PLACE
    reason: str = ""
    waiting: int = 0  # offsets from there to the end of the target partition

    @property
    def is_in_place(self) -> bool:
        """Whether the group goes on there."""
        return self.outcome in (Outcome.SET, Outcome.IN_PLACE)


def move_groups(
    places: Iterable[GroupPlace], target: Access, may_set_back: bool, only_try: bool = False
) -> list[GroupPlace]:
    """Commit all places that can be committed; a group with members is left alone, its own commits count.

    `may_set_back` also moves groups that are further on than their place: then the place is the truth.
    """
    wanted = sorted(places, key=lambda place: (place.group, place.target))
    names = {place.group for place in wanted}
    with Groups(target) as groups:
        listed, current = groups.list(), groups.committed(sorted(names))
        judged = [_judged(place, listed, current.get(place.group, {}), may_set_back) for place in wanted]
        if not only_try:
            results = groups.commit(_commits(judged))
            judged = [_after(place, results) for place in judged]
    with Admin(target) as admin:
        ends = admin.end_offsets({place.target for place in judged})
    return [replace(place, waiting=max(0, ends[place.target] - place.target_offset)) for place in judged]


def _judged(place: GroupPlace, listed: Mapping[str, GroupInfo], current: Offsets, may_set_back: bool) -> GroupPlace:
    before = current.get(place.target)
    if before is not None and before.offset == place.target_offset:
        return replace(place, outcome=Outcome.IN_PLACE)
    if place.group in listed and listed[place.group].has_members:
        return replace(place, outcome=Outcome.HAS_MEMBERS)
    if before is not None and before.offset > place.target_offset and not may_set_back:
        return replace(place, outcome=Outcome.AHEAD, reason=f"stands at {before.offset}")
    return replace(place, outcome=Outcome.SET)


def _commits(places: Sequence[GroupPlace]) -> dict[str, Offsets]:
    commits: dict[str, dict[TopicPartition, Committed]] = {}
    for place in places:
        if place.outcome is Outcome.SET:
            commits.setdefault(place.group, {})[place.target] = Committed(place.target_offset, place.metadata)
    return dict(commits)


def _after(place: GroupPlace, results: Mapping[str, Mapping[TopicPartition, ChangeResult]]) -> GroupPlace:
    result = results.get(place.group, {}).get(place.target)
    if result is None or result.change is Change.DONE:
        return place
    outcome = Outcome.HAS_MEMBERS if result.change is Change.HAS_MEMBERS else Outcome.REFUSED
    return replace(place, outcome=outcome, reason=result.reason)


def summary(places: Collection[GroupPlace]) -> str:
    """In one line: how many groups, how many exact, and who was left out."""
    groups = {place.group for place in places}
    exact = {place.group for place in places} - {place.group for place in places if not place.is_exact}
    text = f"{counted(len(groups), 'group')}, {counted(len(places), 'offset')}, {counted(len(exact), 'group')} exact"
    for outcome in (Outcome.AHEAD, Outcome.HAS_MEMBERS, Outcome.REFUSED):
        if names := sorted({place.group for place in places if place.outcome is outcome}):
            text += f"; {outcome.value}: {', '.join(names)}"
    return text
