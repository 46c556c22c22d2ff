"""Switchover: a planned move from a source to its target, without loss and without repetition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.recovery.hooks.hooks import Hooks
from heliograph.recovery.journal import Journal
from heliograph.recovery.mirroring import Mirroring
from heliograph.recovery.operation import Operation
from heliograph.recovery.producers.fence import FenceWay
from heliograph.recovery.steps.checks import CheckFlow
from heliograph.recovery.steps.draining import Drain
from heliograph.recovery.steps.gate import CloseFlow
from heliograph.recovery.steps.groups import MoveGroups, StopConsumers
from heliograph.recovery.steps.producers import StopProducers
from heliograph.recovery.steps.verify import VerifyTail

NAME = "switchover"


@dataclass(frozen=True)
class MoveOptions:
    """How to move from one living cluster to another."""

    fence: FenceWay | None = None  # keep producers out; else wait for them
    quiet_seconds: float = 10.0
    patience_seconds: float = 600.0  # for producers, mirror and consumers, each
    leaves_consumers: bool = False
    verify_seconds: float = 600.0  # how far back the newest records are compared; 0: not at all
    may_mirror: bool = True  # this process, if nobody else does


def switchover(config: MirrorConfig, flow: FlowConfig, options: MoveOptions) -> Operation:
    """The steps from the source of a flow to its target."""
    journal = Journal(flow, NAME)
    patience = options.patience_seconds
    steps = (
        CheckFlow(flow),
        StopProducers(flow, journal, options.fence, options.quiet_seconds, patience),
        Drain(flow, Mirroring(config, flow, options.may_mirror), patience),
        StopConsumers(flow, patience, options.leaves_consumers),
        MoveGroups(flow, config.opposite_of(flow)),
        VerifyTail(config, flow, journal, options.verify_seconds),
        CloseFlow(flow, journal),
    )
    return Operation(flow.name, steps, journal, partial(Hooks, config.hooks, NAME, flow), goes_back=True)
