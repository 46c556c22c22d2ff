"""A lane: one Spark task that copies its partitions until the epoch ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from heliograph.engine.lane_session import LaneSession
from heliograph.engine.links import Links
from heliograph.engine.pulse import TRYING_AGAIN, Heart
from heliograph.engine.settings import LaneSettings
from heliograph.engine.transforming import TransformSettings
from heliograph.engine.trials import REFUSED, TAKES_NOTHING, Trials, costs_an_attempt
from heliograph.errors import (
    AuthenticationFailed,
    ClusterError,
    PartitionFailed,
    PartitionsWait,
    TargetCutBack,
    TransformWaits,
)
from heliograph.kafka.access import Access
from heliograph.kafka.endings import LASTING_SECONDS, Endings
from heliograph.model import LanePlan, LedgerEntry, TopicPartition

if TYPE_CHECKING:
    from heliograph.engine.lane_transforms import LaneTransforms

_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 1.0
_LOOK_INTERVAL = 0.2
_FIRST_REST = 60.0  # seconds, until partitions that were set aside are tried again; then twice as long each time
_LONGEST_REFUSAL = 5.0  # seconds; usually longer than it takes until another leader has followed one
_FORGET_SECONDS = LASTING_SECONDS + 10.0  # what is refused keeps its id busy, so the next attempt may begin late
_LONGEST_LOGIN_BACKOFF = 10.0  # some systems lock out whoever tries too often


class Lane:
    """Copies the partitions of a plan from one cluster to another, through as many sessions as it takes."""

    def __init__(
        self,
        plan: LanePlan,
        source: Access,
        target: Access,
        settings: LaneSettings,
        should_end: Callable[[], bool],
        on_trouble: Callable[[str], None] = lambda _: None,
        heart: Heart | None = None,
    ) -> None:
        self._plan = plan
        self._access = (source, target)
        self._settings = settings
        self._should_end = should_end
        self._on_trouble = on_trouble
        self._heart = heart or Heart.silent()
        self._links = Links(settings.lanes)
        self._told = dict(plan.set_aside)
        self._set_aside = {where: reason for where, reason in self._told.items() if costs_an_attempt(reason)}
        self._trials = Trials(self._set_aside, _FIRST_REST)
        self._cut_back: dict[TopicPartition, int] = {}  # where targets have appended again at offsets that they had
        self._endings = Endings(plan.endings)
        self._refused: dict[TopicPartition, tuple[float, float]] = {}  # by the target, first and last, for now
        self._transforms = _transforms(settings.transforms) if settings.transforms.chain.is_active else None

    def run(self) -> Iterator[LedgerEntry]:
        """Copy until the epoch ends; yields one entry per committed transaction."""
        backoff = _FIRST_BACKOFF
        while not self._should_end():
            if self._trials.is_due(time.monotonic()):
                self._trials.let_in(time.monotonic())
            session = LaneSession(
                self._plan,
                *self._access,
                self._settings,
                self._session_should_end,
                self._set_aside,
                self._told,
                self._cut_back,
                self._transforms,
                self._heart,
                self._links,
                self._endings,
            )
            try:
                session.start()
                for entry in session.copy():
                    backoff = _FIRST_BACKOFF
                    self._trials.went_on([progress.source for progress in entry.partitions], time.monotonic())
                    self._note_taken(entry)
                    yield entry
                continue
            except PartitionFailed as failure:
                self._put_aside(failure)
                continue
            except ClusterError as error:
                if not error.retriable:
                    raise
                if isinstance(error, PartitionsWait) and self._lasts(error):
                    continue
                if isinstance(error, TargetCutBack):
                    self._cut_back.update(error.places)
                longest = self._longest_backoff(error)
                why = str(error)
                self._on_trouble(f"lane {self._plan.lane}: {why}{TRYING_AGAIN}{backoff:.1f} s")
            finally:
                session.close()
            self._rest(backoff, why)
            backoff = min(backoff * 2, longest)

    def _put_aside(self, failure: PartitionFailed) -> None:
        """All that the same answer refused, and all that would be refused alike: each costs the others an attempt."""
        for one in (failure, *failure.others):
            self._set_aside[one.source] = one.reason
        alike = {one.source for one in (failure, *failure.others)}
        topics = {one.target.topic: one for one in (failure, *failure.others) if one.target and one.concerns_topic}
        for item in self._plan.assignments:
            if item.target.topic in topics:
                told = f"{REFUSED} its topic, as for {topics[item.target.topic].source}"
                self._set_aside.setdefault(item.source, told)
                alike.add(item.source)
        self._trials.refused(alike, time.monotonic())

    def _session_should_end(self) -> bool:
        """At the end of the epoch, or when it is time to try again what was set aside.

        Other partitions are held up by that for the moment that it takes to commit and to begin again.
        """
        return self._should_end() or self._trials.is_due(time.monotonic())

    def _rest(self, seconds: float, why: str) -> None:
        """Wait before the next attempt, but not longer than the epoch lasts."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._should_end():
            self._heart.beat(lambda: f"resting before it tries again: {why}")
            time.sleep(min(left, _LOOK_INTERVAL))

    def _lasts(self, error: PartitionsWait) -> bool:
        """Whether partitions of the target have taken nothing for so long that the others go on without them.

        Every attempt ends with what a partition refuses, and so does the transaction of all: nothing is sent again.
        So those that are well cannot wait for long.
        """
        now, lasting = time.monotonic(), False
        for source in error.sources:
            first, last = self._refused.get(source, (now, now))
            first = first if now - last < _FORGET_SECONDS else now
            self._refused[source] = (first, now)
            if now - first >= _LONGEST_REFUSAL or source in self._told:  # it was tried again, in vain
                self._set_aside[source] = f"{TAKES_NOTHING} for now: {error.name}"
                lasting = True
        if lasting:
            self._trials.refused([source for source in error.sources if source in self._set_aside], now)
        return lasting

    def _note_taken(self, entry: LedgerEntry) -> None:
        """What was refused for a moment is no longer."""
        if self._refused:
            for progress in entry.partitions:
                self._refused.pop(progress.source, None)

    def _longest_backoff(self, error: ClusterError) -> float:
        if isinstance(error, AuthenticationFailed):
            return _LONGEST_LOGIN_BACKOFF
        return (
            self._settings.transforms.longest_pause_ms / 1000 if isinstance(error, TransformWaits) else _LONGEST_BACKOFF
        )


def _transforms(settings: TransformSettings) -> LaneTransforms:
    from heliograph.engine.lane_transforms import LaneTransforms  # not at the top: few lanes need all that it imports

    return LaneTransforms(settings)
