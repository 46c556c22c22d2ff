"""Our own API: what Kafka Connect's has no words for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from heliograph import __version__
from heliograph.control.connector import RunState
from heliograph.control.history import Point
from heliograph.control.rest import lookups, views
from heliograph.control.rest.answers import (
    CallerAnswer,
    ClusterAnswer,
    EventAnswer,
    FlowAnswer,
    FlowDetailAnswer,
    GroupsAnswer,
    MirrorAnswer,
    PartitionAnswer,
    PlanAnswer,
    RangeAnswer,
    SettingAnswer,
    TopicAnswer,
    TopologyAnswer,
)
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.lookups import Recent
from heliograph.control.rest.roles import Operator, Role, Viewer, needs
from heliograph.control.rest.site import site_of
from heliograph.model import Event, TopicPartition

_RECENT_SECONDS = 5.0
_REST_SECONDS = 10.0  # for lanes to commit what they have, when a flow is paused

router = APIRouter(prefix="/api/v1", tags=["heliograph"])
_viewers = [needs(Role.VIEWER)]
_groups: Recent[GroupsAnswer] = Recent(_RECENT_SECONDS)
_plans: Recent[PlanAnswer] = Recent(_RECENT_SECONDS)
_events: Recent[list[Event]] = Recent(_RECENT_SECONDS)


class WantedState(BaseModel):
    """What a flow should do."""

    state: Literal["RUNNING", "PAUSED"]


@router.get("/mirror")
async def mirror(request: Request, caller: Viewer) -> MirrorAnswer:
    """The process that answers, and who is asking."""
    running = site_of(request).mirror
    return MirrorAnswer(
        version=__version__,
        file=running.config.file,
        started_at_ms=running.started_at_ms,
        now_ms=int(time.time() * 1000),
        is_ready=running.is_ready,
        caller=CallerAnswer(name=caller.name, role=caller.role.name.lower()),
        flows=list(running.flows),
    )


@router.get("/topology", dependencies=_viewers)
async def topology(request: Request) -> TopologyAnswer:
    """All clusters and flows."""
    running = site_of(request).mirror
    clusters = [
        ClusterAnswer(alias=cluster.alias, bootstrap_servers=cluster.bootstrap_servers)
        for cluster in running.config.clusters.values()
    ]
    return TopologyAnswer(clusters=clusters, flows=[views.flow_view(flow) for flow in running.flows.values()])


@router.get("/flows", dependencies=_viewers)
async def flows(request: Request) -> list[FlowAnswer]:
    """All flows in short."""
    return [views.flow_view(flow) for flow in site_of(request).mirror.flows.values()]


@router.get("/flows/{name}", dependencies=_viewers)
async def flow(request: Request, name: str) -> FlowDetailAnswer:
    """One flow with its lanes and chores."""
    return views.flow_detail(site_of(request).flow(name))


@router.put("/flows/{name}/state")
def change_state(request: Request, name: str, wanted: WantedState, caller: Operator) -> FlowAnswer:
    """Pause or resume all parts of a flow; remembered over restarts."""
    site = site_of(request)
    found, state = site.flow(name), RunState(wanted.state)
    before = {connector.value: old.value for connector, old in found.states.items()}
    for connector in list(found.states):
        if found.states[connector] is not state:
            site.mirror.change_state(found, connector, state)
    if state is RunState.PAUSED and found.driver is not None and found.driver.has_lanes.is_set():
        found.driver.await_rest(_REST_SECONDS)
    after = {connector.value: new.value for connector, new in found.states.items()}
    site.audit.write(caller, f"state of {name}", before, after)
    return views.flow_view(found)


@router.get("/flows/{name}/history", dependencies=_viewers)
async def history(request: Request, name: str) -> Sequence[Point]:
    """The last hour, a point every five seconds, the oldest first."""
    return site_of(request).flow(name).history.points()


@router.get("/flows/{name}/partitions", dependencies=_viewers)
async def partitions(request: Request, name: str, topic: str | None = None) -> list[PartitionAnswer]:
    """Every partition: how far, how fast, how far behind."""
    return views.partition_views(site_of(request).flow(name), topic)


@router.get("/flows/{name}/topics", dependencies=_viewers)
async def topics(request: Request, name: str) -> list[TopicAnswer]:
    """Every topic: its partitions together."""
    return views.topic_views(site_of(request).flow(name))


@router.get("/flows/{name}/groups", dependencies=_viewers)
def groups(request: Request, name: str) -> GroupsAnswer:
    """Every group: where it stands on the source, and where on the target."""
    return _groups.get(site_of(request).flow(name), lookups.read_groups)


@router.get("/flows/{name}/events", dependencies=_viewers)
def events(request: Request, name: str) -> list[EventAnswer]:
    """What has happened within the last day, the newest first."""
    return views.event_views(_events.get(site_of(request).flow(name), lookups.read_events))


@router.get("/flows/{name}/ledger", dependencies=_viewers)
def ledger(
    request: Request,
    name: str,
    topic: str,
    partition: Annotated[int, Query(ge=0)],
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[RangeAnswer]:
    """Where the last records of a source partition went, the newest first."""
    found = site_of(request).flow(name)
    where = TopicPartition(topic, partition)
    if found.driver is None or all(item.source != where for item in found.driver.assignments):
        raise RestError(404, f"{name} does not mirror {where}")
    return lookups.read_ranges(found, where, limit)


@router.get("/flows/{name}/plan", dependencies=_viewers)
def plan(request: Request, name: str) -> PlanAnswer:
    """What is mirrored to where, what is left out and why."""
    return _plans.get(site_of(request).flow(name), lookups.read_plan_view)


@router.get("/flows/{name}/config", dependencies=_viewers)
async def config(request: Request, name: str) -> list[SettingAnswer]:
    """Every setting, with its value and where that comes from."""
    site = site_of(request)
    found = site.flow(name)
    return views.setting_views(found, site.mirror.changes(found))
