"""GET /metrics, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.text import CONTENT_TYPE
from heliograph.control.rest.roles import Role, needs
from heliograph.control.rest.site import site_of

router = APIRouter(tags=["metrics"])


@router.get("/metrics", dependencies=[needs(Role.VIEWER)], response_class=Response)
async def metrics(request: Request) -> Response:
    """All metrics in Prometheus' text format."""
    made = metrics_of(request)
    page = made.recent()
    if page is None:
        page = await run_in_threadpool(made.page)
    headers = {"Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(page.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(page.text, headers=headers)


def metrics_of(request: Request) -> MirrorMetrics:
    """The metrics of the mirror that a request is for."""
    state = request.app.state
    if not hasattr(state, "metrics"):
        state.metrics = MirrorMetrics(site_of(request).mirror)
    made: MirrorMetrics = state.metrics
    return made
