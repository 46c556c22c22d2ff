"""Which connector a name means.

A Connect cluster has one list of connectors; a mirror has three for each flow. The only enabled flow has MirrorMaker
2's plain names, so that what people know works; all others have their flow's name before them. Below
`/{source}/{target}`, as in MirrorMaker 2's dedicated mode, there is one flow, and names are plain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from heliograph.control.connector import Connector
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.site import site_of
from heliograph.control.running_flow import RunningFlow
from heliograph.control.running_mirror import RunningMirror


@dataclass(frozen=True)
class NamedConnector:
    """A connector of a flow, under the name that a request gives it."""

    name: str
    flow: RunningFlow
    connector: Connector


def listed_names(mirror: RunningMirror, flow: RunningFlow | None = None) -> dict[str, NamedConnector]:
    """All connectors, or those of one flow, by their names."""
    if flow is not None:
        return {item.value: NamedConnector(item.value, flow, item) for item in flow.states}
    plain = _plain_flow(mirror)
    found = [
        NamedConnector(item.value if each is plain else full_name(each, item), each, item)
        for each in mirror.flows.values()
        for item in each.states
    ]
    return {item.name: item for item in found}


def full_name(flow: RunningFlow, connector: Connector) -> str:
    """A name that is never shared: the flow's and the connector's."""
    return f"{flow.name}.{connector.value}"


def _plain_flow(mirror: RunningMirror) -> RunningFlow | None:
    """The flow whose connectors need no prefix."""
    enabled = [flow for flow in mirror.flows.values() if flow.driver is not None]
    return enabled[0] if len(enabled) == 1 else None


def _asked_flow(request: Request) -> RunningFlow | None:
    """The flow that the path names."""
    source, target = request.path_params.get("source"), request.path_params.get("target")
    return None if source is None else site_of(request).flow(f"{source}->{target}")


async def asked_names(request: Request) -> Mapping[str, NamedConnector]:
    """The connectors that a path can mean."""
    return listed_names(site_of(request).mirror, _asked_flow(request))


async def asked_connector(request: Request, connector: str) -> NamedConnector:
    """The connector that a path means."""
    found = listed_names(site_of(request).mirror, _asked_flow(request)).get(connector)
    if found is None:
        raise RestError(404, f"Connector {connector} not found")
    return found


Listed = Annotated[Mapping[str, NamedConnector], Depends(asked_names)]
Asked = Annotated[NamedConnector, Depends(asked_connector)]
