"""The process itself: which one it is, and whether it can do its work."""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool

from heliograph import __version__
from heliograph.control.rest.connect.answers import HealthAnswer, ServerAnswer
from heliograph.control.rest.roles import Role, RoleRule, needs
from heliograph.control.rest.site import site_of
from heliograph.control.running_mirror import RunningMirror
from heliograph.kafka.access import access_for
from heliograph.kafka.admin import Admin

_HEALTHY = "Worker has completed startup and is ready to handle requests."
_COMMIT = "unknown"
_PAGE = "/ui/"

router = APIRouter()
_viewer = RoleRule(Role.VIEWER)
_cluster_ids: WeakKeyDictionary[RunningMirror, str] = WeakKeyDictionary()


@router.get("/", response_model=ServerAnswer, dependencies=[needs(Role.PUBLIC)])
async def server(request: Request) -> Response | ServerAnswer:
    """Version and cluster, for programs; whoever wants a page is sent to it."""
    if _prefers_page(request.headers.get("accept", "*/*")):
        return RedirectResponse(_PAGE, 303)  # which asks for a token itself
    _viewer.check(request)
    cluster_id = await run_in_threadpool(_cluster_id, site_of(request).mirror)
    return ServerAnswer(version=__version__, commit=_COMMIT, kafka_cluster_id=cluster_id)


@router.get("/health", response_model=HealthAnswer, dependencies=[needs(Role.VIEWER)])
async def health(request: Request) -> Response:
    """200 healthy, 503 starting, 500 unhealthy."""
    mirror = site_of(request).mirror
    if ended := [*_ended(mirror)]:
        return _health(500, "unhealthy", "; ".join(ended))
    if waiting := [*_waiting(mirror)]:
        return _health(503, "starting", "; ".join(waiting))
    return _health(200, "healthy", _HEALTHY)


def _health(code: int, status: str, message: str) -> Response:
    return JSONResponse({"status": status, "message": message}, code)


def _ended(mirror: RunningMirror) -> Iterator[str]:
    for flow in mirror.flows.values():
        if flow.has_ended():
            trouble = flow.driver.trouble if flow.driver else None
            yield f"{flow.name} has ended" + (f": {trouble.text}" if trouble else "")


def _waiting(mirror: RunningMirror) -> Iterator[str]:
    for flow in mirror.flows.values():
        if flow.driver is not None and not flow.driver.in_charge.is_set():
            trouble = flow.driver.trouble
            yield f"{flow.name} is starting" + (f": {trouble.text}" if trouble else "")


def _cluster_id(mirror: RunningMirror) -> str:
    """Of the first target: there the books are kept. It never changes."""
    if mirror not in _cluster_ids:
        flow = next((item for item in mirror.flows.values() if item.driver), next(iter(mirror.flows.values())))
        with Admin(access_for(flow.config.target, "admin")) as admin:
            _cluster_ids[mirror] = admin.cluster_id()
    return _cluster_ids[mirror]


def _prefers_page(accept: str) -> bool:
    """Whether HTML is asked for by name, and JSON less."""
    weights = dict(_weighted(item) for item in accept.lower().split(","))
    page = weights.get("text/html", 0.0)
    data = weights.get("application/json", weights.get("application/*", weights.get("*/*", 0.0)))
    return page > data


def _weighted(item: str) -> tuple[str, float]:
    kind, _, parameters = item.partition(";")
    weight = next((text for text in map(str.strip, parameters.split(";")) if text.startswith("q=")), "q=1")
    try:
        return kind.strip(), float(weight.removeprefix("q="))
    except ValueError:
        return kind.strip(), 0.0
