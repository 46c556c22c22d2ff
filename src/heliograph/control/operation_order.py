"""What somebody wants to have done with a flow, and the work that this is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.control.drill_run import DrillRun, DrillWishes
from heliograph.control.running_mirror import RunningMirror
from heliograph.control.verification_run import VerificationRun
from heliograph.recovery.failback import TailOptions, failback, with_reverse
from heliograph.recovery.failover import failover
from heliograph.recovery.mirroring import ALIVE_SECONDS, seconds_since_life
from heliograph.recovery.operation import OperationReport, PlannedStep
from heliograph.recovery.switchover import MoveOptions, switchover


class Kind(Enum):
    """What can be done."""

    SWITCHOVER = "switchover"
    FAILOVER = "failover"
    FAILBACK = "failback"
    VERIFY = "verify"
    DRILL = "drill"

    @property
    def can_be_undone(self) -> bool:
        """Whether an unfinished or finished run can be put back."""
        return self in (Kind.SWITCHOVER, Kind.FAILBACK)


class Work(Protocol):
    """What all operations have in common."""

    report: OperationReport
    on_change: Callable[[OperationReport], None]

    def preview(self) -> list[PlannedStep]:
        """What would be done, and what stands in the way."""

    def run(self) -> OperationReport:
        """Do it; raises HeliographError, after which the report tells more."""

    def undo(self) -> OperationReport:
        """Put back what an unfinished or finished run has changed."""

    def details(self) -> dict[str, Any]:
        """All that was found out."""


@dataclass(frozen=True)
class OperationOrder:
    """One operation on one flow."""

    kind: Kind
    flow: FlowConfig
    is_undo: bool = False
    move: MoveOptions = field(default_factory=MoveOptions)
    tail_topic: str | None = None
    compared_seconds: float | None = None  # of a verification; None: all records
    drill: DrillWishes = field(default_factory=DrillWishes)

    def __str__(self) -> str:
        return f"{'undo of ' if self.is_undo else ''}{self.kind.value} of {self.flow.name}"

    @property
    def claim(self) -> frozenset[str]:
        """What no other order may have at the same time: both directions.

        What does not touch the flow, a comparison or a drill, must not hold up a failover.
        """
        clusters = frozenset((self.flow.source.alias, self.flow.target.alias))
        return clusters | {self.kind.value} if self.kind in (Kind.VERIFY, Kind.DRILL) else clusters

    def work(self, config: MirrorConfig) -> Work:
        """The steps; asks the target what earlier operations have left. Raises HeliographError."""
        if self.kind is Kind.SWITCHOVER:
            return switchover(config, self.flow, self.move)
        if self.kind is Kind.FAILOVER:
            return failover(config, self.flow)
        if self.kind is Kind.FAILBACK:
            # Never a file: whoever asks cannot read the disk of this process.
            return failback(config, self.flow, self.move, TailOptions(topic=self.tail_topic or self._new_topic()))
        if self.kind is Kind.DRILL:
            return DrillRun(config, self.flow, self.drill)
        return VerificationRun(config, self.flow, self.compared_seconds)

    def obstacle(self, mirror: RunningMirror) -> str:
        """Why it cannot be done within the process of this mirror, if so.

        An operation that finds nobody to mirror a flow would do so itself. Two mirrors in one process would share, and
        end, one Spark session; so here somebody else must be at it.
        """
        if self.kind is not Kind.FAILBACK or self.is_undo:
            return ""
        _, back = with_reverse(mirror.config, self.flow)
        running = mirror.flows.get(back.name)
        if (running is not None and running.driver is not None) or seconds_since_life(back) <= ALIVE_SECONDS:
            return ""
        return (
            f"nobody mirrors {back.name}: enable it in the file and start this process again, "
            "or use the command `heliograph failback`, which mirrors it itself meanwhile"
        )

    def _new_topic(self) -> str:
        return time.strftime(f"heliograph-tail.{self.flow.source.alias}.%Y%m%dT%H%M%SZ", time.gmtime())
