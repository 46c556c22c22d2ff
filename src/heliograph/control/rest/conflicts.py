"""Conflicts over our API: what the clusters have decided within the last hour."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Query, Request

from heliograph.control.conflicts.desk import ConflictDesk
from heliograph.control.conflicts.watch import EXAMPLES, Wanted
from heliograph.control.rest.conflict_answers import ConflictsAnswer
from heliograph.control.rest.conflict_views import Choice, cluster_view
from heliograph.control.rest.roles import Role, Viewer
from heliograph.control.rest.site import site_of

router = APIRouter(prefix="/api/v1/conflicts", tags=["conflicts"])


@router.get("")
def conflicts(
    request: Request,
    caller: Viewer,
    topic: str | None = None,
    key: str | None = None,
    limit: Annotated[int, Query(ge=1, le=EXAMPLES)] = 50,
) -> ConflictsAnswer:
    """Rates, keys and the newest decisions of the last hour, by cluster; operators see what the records say."""
    desk: ConflictDesk = request.app.state.conflicts
    running = site_of(request).mirror.conflicts
    choice = Choice(Wanted(topic, key), limit, caller.role >= Role.OPERATOR)
    return ConflictsAnswer(
        now_ms=int(time.time() * 1000),
        shows_values=choice.shows_values,
        clusters=[cluster_view(found, running[found.cluster], choice) for found in desk.look()],
    )
