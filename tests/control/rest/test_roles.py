"""Every route by every role: what each takes is written down here, not read from the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter
from fastapi.routing import iter_route_contexts

from heliograph.control.rest import app
from heliograph.control.rest.rules import role_of
from tests.control.rest.serving import ROLES, TOKENS, Served, serving

PUBLIC, VIEWER, OPERATOR, ADMIN = "", *ROLES

OF_CONNECTORS = {
    "GET ": VIEWER,
    "GET /": VIEWER,
    "POST ": ADMIN,
    "POST /": ADMIN,
    "GET /{connector}": VIEWER,
    "DELETE /{connector}": ADMIN,
    "GET /{connector}/status": VIEWER,
    "PUT /{connector}/pause": OPERATOR,
    "PUT /{connector}/resume": OPERATOR,
    "PUT /{connector}/stop": OPERATOR,
    "POST /{connector}/restart": OPERATOR,
    "GET /{connector}/tasks": VIEWER,
    "GET /{connector}/tasks/{task}/status": VIEWER,
    "POST /{connector}/tasks/{task}/restart": OPERATOR,
    "GET /{connector}/config": VIEWER,
    "PUT /{connector}/config": ADMIN,
    "PATCH /{connector}/config": ADMIN,
    "GET /{connector}/offsets": VIEWER,
    "PATCH /{connector}/offsets": ADMIN,
    "DELETE /{connector}/offsets": ADMIN,
    "GET /{connector}/topics": VIEWER,
    "PUT /{connector}/topics/reset": ADMIN,
}
EXPECTED = {
    "GET /healthz": PUBLIC,
    "GET /readyz": PUBLIC,
    "GET /ui": PUBLIC,
    "GET /ui/": PUBLIC,
    "GET /ui/static/{path:path}": PUBLIC,
    "GET /metrics": VIEWER,
    "GET /api/v1/openapi.json": VIEWER,
    "GET /api/v1/mirror": VIEWER,
    "GET /api/v1/topology": VIEWER,
    "GET /api/v1/flows": VIEWER,
    "GET /api/v1/flows/{name}": VIEWER,
    "PUT /api/v1/flows/{name}/state": OPERATOR,
    "GET /api/v1/flows/{name}/history": VIEWER,
    "GET /api/v1/flows/{name}/partitions": VIEWER,
    "GET /api/v1/flows/{name}/topics": VIEWER,
    "GET /api/v1/flows/{name}/groups": VIEWER,
    "GET /api/v1/flows/{name}/events": VIEWER,
    "GET /api/v1/flows/{name}/ledger": VIEWER,
    "GET /api/v1/flows/{name}/plan": VIEWER,
    "GET /api/v1/flows/{name}/config": VIEWER,
    "GET /api/v1/threads": OPERATOR,
    "GET /api/v1/conflicts": VIEWER,  # and what records say, for operators
    "GET /api/v1/operations": VIEWER,
    "GET /api/v1/operations/{id}": VIEWER,
    "POST /api/v1/operations": OPERATOR,  # to look and to compare; what changes clusters takes an admin
    "POST /api/v1/operations/{id}/stop": ADMIN,
    "GET /": PUBLIC,  # sends browsers to the page; what it tells programs is for viewers
    "GET /health": VIEWER,
    "GET /connector-plugins": VIEWER,
    "GET /connector-plugins/": VIEWER,
    "GET /connector-plugins/{plugin}/config": VIEWER,
    "PUT /connector-plugins/{plugin}/config/validate": VIEWER,
    "GET /admin/loggers": VIEWER,
    "GET /admin/loggers/": VIEWER,
    "GET /admin/loggers/{logger}": VIEWER,
    "PUT /admin/loggers/{logger}": ADMIN,
    **{
        route.replace(" ", f" {prefix}", 1): role
        for prefix in ("/connectors", "/{source}/{target}/connectors")
        for route, role in OF_CONNECTORS.items()
    },
}
FILLED = {
    "{connector}": "nobody",  # so that no route gets as far as asking brokers
    "{name}": "x->y",
    "{id}": "nothing",
    "{source}": "x",
    "{target}": "y",
    "{task}": "0",
    "{plugin}": "nothing",
    "{logger}": "nowhere",
    "{path:path}": "nothing",
}
LEVELS = (PUBLIC, *ROLES)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that knows one caller of each role."""
    with serving(tmp_path_factory.mktemp("roles"), TOKENS) as running:
        yield running


def routes() -> dict[str, object]:
    """All routes that are served, each with the object behind it."""
    found: dict[str, object] = {}
    for router in app._ROUTERS:
        holder = APIRouter()
        holder.include_router(router)
        for route in iter_route_contexts(holder.routes):
            found |= {f"{method} {route.path}": route.original_route for method in route.methods or ("ANY",)}
    return found


def test_every_route_is_in_the_table_and_takes_the_role_that_is_written_there() -> None:
    taken = {name: role_of(route) for name, route in routes().items()}
    assert {name: role.name.lower() if role else "" for name, role in taken.items()} == EXPECTED
    assert [name for name, role in taken.items() if role is None] == []


@pytest.mark.parametrize("route", EXPECTED)
def test_a_route_lets_in_those_who_may_and_nobody_else(served: Served, route: str) -> None:
    method, path = route.split(" ")
    for name, value in FILLED.items():
        path = path.replace(name, value)
    headers = {"Accept": "text/html"}  # for which GET / asks no broker
    codes = {}
    for role in LEVELS:
        body = {} if method in ("GET", "DELETE") else {"json": {"level": "none", "state": "none"}}
        codes[role] = served.request(method, path, role, headers, **body).status_code
    needed = LEVELS.index(EXPECTED[route])
    for level, role in enumerate(LEVELS):
        if level >= needed:
            assert codes[role] not in (401, 403, 500), (role, codes)
        else:
            assert codes[role] == (403 if role else 401), (role, codes)


@pytest.mark.parametrize("body", [b"{", b"[]", b""])
def test_who_may_not_is_told_so_before_what_is_wrong_with_the_body(served: Served, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    path = "/api/v1/flows/a->b/state"
    assert served.request("PUT", path, "", headers, content=body).status_code == 401
    assert served.request("PUT", path, "viewer", headers, content=body).status_code == 403
    assert served.request("PUT", path, "operator", headers, content=body).status_code == 400


def test_only_browsers_are_sent_to_the_page_without_a_name(served: Served) -> None:
    assert served.request("GET", "/", "", {"Accept": "text/html"}).headers["Location"] == "/ui/"
    assert served.request("GET", "/", "", {"Accept": "application/json"}).status_code == 401


def test_a_refusal_says_what_is_missing(served: Served) -> None:
    refusal = served.request("PUT", "/connectors/MirrorSourceConnector/pause", "viewer")
    assert refusal.json() == {"error_code": 403, "message": "viewers is viewer, this takes operator"}
    unknown = served.request("GET", "/connectors")
    assert unknown.json()["error_code"] == 401
    assert unknown.headers["WWW-Authenticate"] == "Bearer"


def test_a_route_that_names_no_role_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten = APIRouter()
    forgotten.add_api_route("/forgotten", lambda: "secret")
    monkeypatch.setattr(app, "_ROUTERS", (*app._ROUTERS, forgotten))
    with serving(tmp_path) as served:
        answer = served.request("GET", "/forgotten")
        assert (answer.status_code, "secret" in answer.text) == (403, False)
