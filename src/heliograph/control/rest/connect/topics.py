"""Topics that connectors have written to, since this process began or since they were last asked to forget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request, Response

from heliograph.control.connector import Connector
from heliograph.control.rest.connect.answers import TopicsAnswer
from heliograph.control.rest.connect.names import Asked, NamedConnector
from heliograph.control.rest.roles import Admin, Role, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_flow import RunningFlow

router = APIRouter()
_viewers = [needs(Role.VIEWER)]
_forgotten_ms: WeakKeyDictionary[RunningFlow, dict[Connector, int]] = WeakKeyDictionary()


@router.get("/{connector}/topics", dependencies=_viewers)
async def active(asked: Asked) -> dict[str, TopicsAnswer]:
    """Topics of the target that the connector has written to."""
    return {asked.name: TopicsAnswer(topics=sorted(set(_active(asked))))}


@router.put("/{connector}/topics/reset", status_code=202)
def reset(request: Request, caller: Admin, asked: Asked) -> Response:
    """Forget the topics so far."""
    before = sorted(set(_active(asked)))
    _forgotten_ms.setdefault(asked.flow, {})[asked.connector] = int(time.time() * 1000)
    what = f"active topics of {asked.connector.value} of {asked.flow.name}"
    site_of(request).audit.write(caller, what, {"topics": before}, {"topics": []})
    return Response(status_code=202)


def _active(asked: NamedConnector) -> Iterator[str]:
    flow, connector = asked.flow, asked.connector
    since = _forgotten_ms.get(flow, {}).get(connector, 0)
    if connector is Connector.SOURCE:
        yield from (where.topic for where, meter in flow.meter.partitions().items() if meter.last_commit_ms > since)
        return
    policy = flow.config.replication_policy
    has_written = any(item.connector is connector and item.last_success_ms > since for item in flow.reports())
    if connector is Connector.HEARTBEAT and has_written:
        yield policy.heartbeats_topic()
    elif has_written and flow.meter.checkpoint_ms:
        yield policy.checkpoints_topic(flow.config.source.alias)
