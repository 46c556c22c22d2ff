"""The web application: all routes behind one gate."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from heliograph import __version__
from heliograph.config.rest_access import RestAccess
from heliograph.control.conflicts.desk import ConflictDesk
from heliograph.control.metrics.mirror_metrics import MirrorMetrics
from heliograph.control.operations_desk import OperationsDesk
from heliograph.control.rest import api, conflicts, health_routes, metrics_route, operations, threads_route
from heliograph.control.rest.audit import AuditLog
from heliograph.control.rest.connect import router as connect
from heliograph.control.rest.error_answers import answer, rest_error
from heliograph.control.rest.gate import Gate
from heliograph.control.rest.roles import Role, needs
from heliograph.control.rest.rules import check_role, check_rule
from heliograph.control.rest.site import Site
from heliograph.control.running_mirror import RunningMirror
from heliograph.control.web import pages

_description = APIRouter(prefix="/api/v1", tags=["description"])


@_description.get("/openapi.json", dependencies=[needs(Role.VIEWER)], include_in_schema=False)
async def openapi(request: Request) -> dict[str, Any]:
    """All routes and what they take and give, in OpenAPI's words."""
    app: FastAPI = request.app
    return app.openapi()


# Connect's come last: some of their paths begin with the alias of any cluster.
_ROUTERS = (
    health_routes.router,
    _description,
    metrics_route.router,
    api.router,
    operations.router,
    conflicts.router,
    threads_route.router,
    pages.router,
    connect.router,
)


def create_app(mirror: RunningMirror, access: RestAccess, audit: AuditLog) -> FastAPI:
    """All that is served for a running mirror."""
    app = FastAPI(
        title="Heliograph",
        version=__version__,
        openapi_url=None,  # has a route of its own, which names a role; pages that show it would load from elsewhere
        dependencies=[Depends(check_rule)],
    )
    app.state.site = Site(mirror, audit)
    app.state.metrics = MirrorMetrics(mirror)
    app.state.operations = OperationsDesk(mirror)
    app.state.conflicts = ConflictDesk(mirror)
    for router in _ROUTERS:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(RequestValidationError, _told)
    app.add_middleware(Gate, access=access, audit=audit)
    return app


async def _told(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        check_role(request)
    return answer(rest_error(error))
