"""Whether the process lives, and whether it does its work: for those who watch over it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse

from heliograph.control.rest.roles import Role, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_flow import RunningFlow

router = APIRouter(tags=["health"])


@router.get("/healthz", dependencies=[needs(Role.PUBLIC)])
async def healthz() -> dict[str, str]:
    """200 as long as the process lives."""
    return {"status": "alive"}


@router.get("/readyz", dependencies=[needs(Role.PUBLIC)], responses={503: {"description": "Not ready"}})
async def readyz(request: Request) -> JSONResponse:
    """200 once every flow is ours and none has ended; else 503 and why."""
    reasons = [reason for flow in site_of(request).mirror.flows.values() if (reason := _hindrance(flow))]
    status = "not ready" if reasons else "ready"
    return JSONResponse({"status": status, "reasons": reasons}, 503 if reasons else 200)


def _hindrance(flow: RunningFlow) -> str:
    if flow.has_ended():
        return f"{flow.name} has ended"
    if flow.driver is not None and not flow.driver.in_charge.is_set():
        return f"{flow.name} is not taken over yet"
    return ""
