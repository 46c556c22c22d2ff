"""Which flows of a file a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from heliograph.config.flow import FlowConfig
    from heliograph.config.mirror_config import MirrorConfig

FlowOption = Annotated[str | None, typer.Option("--flow", help="Only this flow, as A->B (quote it).")]


def chosen_flows(config: MirrorConfig, name: str | None) -> tuple[FlowConfig, ...]:
    """All flows of a file, or the one that the user named."""
    if name is None:
        return config.flows
    found = config.flow(name)
    if found is None:
        known = ", ".join(flow.name for flow in config.flows)
        raise typer.BadParameter(f"there is no flow {name}; flows are {known}")
    return (found,)


def one_flow(config: MirrorConfig, name: str | None) -> FlowConfig:
    """The flow that the user named, or the only one that mirrors."""
    flows = [flow for flow in chosen_flows(config, name) if flow.enabled]
    if len(flows) != 1:
        known = ", ".join(flow.name for flow in config.flows if flow.enabled)
        raise typer.BadParameter(f"name one enabled flow with --flow; there are: {known or 'none'}")
    return flows[0]
