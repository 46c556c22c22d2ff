"""Failback: back to a source that has returned, with what was written meanwhile and with nothing lost."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from heliograph.config.flow import FlowConfig
from heliograph.config.mirror_config import MirrorConfig
from heliograph.recovery.hooks.hooks import Hooks
from heliograph.recovery.journal import Journal
from heliograph.recovery.mirroring import Mirroring
from heliograph.recovery.operation import Operation
from heliograph.recovery.steps.checks import CheckFlow
from heliograph.recovery.steps.draining import CatchUp, Drain
from heliograph.recovery.steps.gate import CloseFlow, OpenFlow
from heliograph.recovery.steps.groups import MoveGroups, StopConsumers
from heliograph.recovery.steps.producers import LiftFence, StopProducers
from heliograph.recovery.steps.tail import SaveTail
from heliograph.recovery.steps.verify import VerifyTail
from heliograph.recovery.switchover import MoveOptions

NAME = "failback"
_SHARED = ("topics", "topics.exclude", "groups", "groups.exclude")


@dataclass(frozen=True)
class TailOptions:
    """Where what was never mirrored is kept for review."""

    file: Path | None = None
    topic: str | None = None


def failback(config: MirrorConfig, flow: FlowConfig, options: MoveOptions, tail: TailOptions) -> Operation:
    """The steps back to the source of a flow."""
    journal = Journal(flow, NAME)
    config, reverse = with_reverse(config, flow)
    patience = options.patience_seconds
    mirroring = Mirroring(config, reverse, options.may_mirror)
    save_tail = SaveTail(flow, journal, tail.file, tail.topic)
    steps = (
        CheckFlow(reverse, must_run=False),
        CloseFlow(flow, journal, stays_closed=True),
        save_tail,
        LiftFence(flow, journal, flow.source.alias),
        CatchUp(reverse, mirroring, patience),
        StopProducers(reverse, journal, options.fence, options.quiet_seconds, patience),
        Drain(reverse, mirroring, patience),
        StopConsumers(reverse, patience, options.leaves_consumers),
        MoveGroups(reverse, flow, save_tail.settled),
        VerifyTail(config, reverse, journal, options.verify_seconds),
        _LiftTargetFence(flow, journal, flow.target.alias),
        OpenFlow(flow, journal),
    )
    return Operation(flow.name, steps, journal, partial(Hooks, config.hooks, NAME, flow), goes_back=True)


class _LiftTargetFence(LiftFence):
    """Opens what this very operation has closed: the flow must be able to write there again."""

    name = "release"
    title = "Open what was closed meanwhile"


def with_reverse(config: MirrorConfig, flow: FlowConfig) -> tuple[MirrorConfig, FlowConfig]:
    """The configuration with the flow back turned on, and that flow.

    One that the file leaves off gets the topics and groups of the flow, as far as the file says nothing of its own.
    """
    name = f"{flow.target.alias}->{flow.source.alias}"
    found = config.opposite_of(flow)
    if found is not None:
        return config, found
    changes: dict[str, str | None] = {"enabled": "true"}
    bare = _flow_of(config.with_changes({name: changes}), name)
    for key in _SHARED:
        if bare.setting(key).origin.line is None and flow.setting(key).origin.line is not None:
            changes[key] = _text(flow, key)
    config = config.with_changes({name: changes})
    return config, _flow_of(config, name)


def _flow_of(config: MirrorConfig, name: str) -> FlowConfig:
    flow = config.flow(name)
    assert flow is not None
    return flow


def _text(flow: FlowConfig, key: str) -> str:
    value = flow.get(key)
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
