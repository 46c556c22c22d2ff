"""GET /metrics, for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.metrics.text import CONTENT_TYPE
from heliograph.control.rest.roles import Role, needs

router = APIRouter(tags=["metrics"])


@router.get("/metrics", dependencies=[needs(Role.VIEWER)], response_class=Response)
async def metrics(request: Request) -> Response:
    """All metrics in Prometheus' text format."""
    made: MirrorMetrics = request.app.state.metrics
    page = made.recent()
    if page is None:
        page = await run_in_threadpool(made.page)
    headers = {"Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(page.packed, headers={**headers, "Content-Encoding": "gzip"})
    return Response(page.text, headers=headers)
