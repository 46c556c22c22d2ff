"""Failover: an emergency move to the target of a flow, whose source may be gone."""

from __future__ import annotations

from functools import partial

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.recovery.hooks.hooks import Hooks
from heliograph.recovery.journal import Journal
from heliograph.recovery.operation import Operation
from heliograph.recovery.steps.checks import CheckTarget
from heliograph.recovery.steps.gate import CloseFlow
from heliograph.recovery.steps.groups import MoveLastSeenGroups
from heliograph.recovery.steps.survey import Survey

NAME = "failover"


def failover(config: MirrorConfig, flow: FlowConfig) -> Operation:
    """Nothing is put back when a step fails: run it again, and it goes on."""
    journal = Journal(flow, NAME)
    steps = (
        CheckTarget(flow),
        CloseFlow(flow, journal, stays_closed=True),
        Survey(flow),
        MoveLastSeenGroups(flow),
    )
    return Operation(flow.name, steps, journal, partial(Hooks, config.hooks, NAME, flow), goes_back=False)
