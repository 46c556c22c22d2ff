"""Steps about consumer groups: wait until they rest, and set them on the other side."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any

from heliograph.config.flow import FlowConfig
from heliograph.errors import StepFailed
from heliograph.kafka.access import access_for
from heliograph.model import TopicPartition
from heliograph.recovery.books import is_carried, read_books
from heliograph.recovery.group_move import GroupPlace, Outcome, move_groups, summary
from heliograph.recovery.last_commits import last_places
from heliograph.recovery.live_places import followed_groups, live_places
from heliograph.recovery.steps.step import Outlook, Step, Tell

_LOOK_SECONDS = 0.5


class StopConsumers(Step):
    """Waits until no group that moves has members on the source: what one commits later would be read again."""

    name = "consumers"
    title = "Wait until consumers have stopped"

    def __init__(self, flow: FlowConfig, seconds: float, may_stay: bool) -> None:
        """`may_stay`: go on although groups are still consuming."""
        self._flow = flow
        self._seconds = seconds
        self._may_stay = may_stay

    def outlook(self) -> Outlook:
        """Who consumes now."""
        active = self._active()
        text = f"would wait for {', '.join(active)}" if active else "no group that moves has members"
        return Outlook("groups may stay" if self._may_stay else text)

    def do(self, tell: Tell) -> str:
        """Wait until all rest."""
        deadline = time.monotonic() + self._seconds
        while (active := self._active()) and not self._may_stay:
            if time.monotonic() > deadline:
                names = ", ".join(active)
                raise StepFailed(
                    f"after {self._seconds:.0f} s there still consume on {self._flow.source.alias}: {names}; "
                    "stop them, or leave them with --leave-consumers (they may read some records again)"
                )
            tell(f"stop these on {self._flow.source.alias}: {', '.join(active)}")
            time.sleep(_LOOK_SECONDS)
        return f"left: {', '.join(active)}" if active else "no group that moves has members"

    def _active(self) -> list[str]:
        listed, committed = followed_groups(self._flow)
        return sorted(
            name
            for name, offsets in committed.items()
            if listed[name].has_members and any(is_carried(self._flow, where.topic) for where in offsets)
        )


class _Move(Step):
    """Sets groups, from wherever their commits are known."""

    name = "groups"
    title = "Set the offsets of groups"

    def __init__(self, flow: FlowConfig, may_set_back: bool) -> None:
        self._flow = flow
        self._may_set_back = may_set_back
        self.places: Sequence[GroupPlace] = ()

    @abstractmethod
    def _wanted(self) -> list[GroupPlace]:
        """Where each group should go on."""

    def outlook(self) -> Outlook:
        """Where each would go on by now."""
        self.places = self._move(only_try=True)
        return Outlook(summary(self.places))

    def do(self, tell: Tell) -> str:
        """Set them."""
        tell("translating offsets")
        self.places = self._move(only_try=False)
        if refused := [place for place in self.places if place.outcome is Outcome.REFUSED]:
            first = refused[0]
            raise StepFailed(f"{self._flow.target.alias} refused {first.group} {first.target}: {first.reason}")
        return summary(self.places)

    def facts(self) -> dict[str, str]:
        """For hooks: which groups."""
        return {"groups": ",".join(sorted({place.group for place in self.places if place.is_in_place}))}

    def details(self) -> dict[str, Any]:
        """Every offset of every group."""
        return {"groups": [_row(place) for place in self.places]}

    def _move(self, only_try: bool) -> list[GroupPlace]:
        target = access_for(self._flow.target, "admin")
        return move_groups(self._wanted(), target, self._may_set_back, only_try)


def _row(place: GroupPlace) -> dict[str, Any]:
    return {
        "group": place.group,
        "source_topic": place.source.topic,
        "partition": place.source.partition,
        "source_offset": place.source_offset,
        "target_topic": place.target.topic,
        "target_offset": place.target_offset,
        "exact": place.is_exact,
        "waiting": place.waiting,
        "outcome": place.outcome.value,
        "reason": place.reason,
    }


class MoveGroups(_Move):
    """By what groups have committed on a source that lives: it is the truth, so groups may also be set back."""

    def __init__(
        self,
        flow: FlowConfig,
        opposite: FlowConfig | None,
        settled: Callable[[], Collection[TopicPartition]] = lambda: (),
    ) -> None:
        super().__init__(flow, may_set_back=True)
        self._opposite = opposite
        self._settled = settled

    def _wanted(self) -> list[GroupPlace]:
        return live_places(self._flow, self._opposite, self._settled())


class MoveLastSeenGroups(_Move):
    """By what groups were last seen to commit on a source that is gone: never back."""

    def __init__(self, flow: FlowConfig) -> None:
        super().__init__(flow, may_set_back=False)

    def _wanted(self) -> list[GroupPlace]:
        return last_places(read_books(self._flow))
