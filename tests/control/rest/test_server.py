"""The server itself: where it listens, what it says of itself, how it starts and ends."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

import httpx
import pytest

from heliograph.control.rest.connection import Connection
from heliograph.control.rest.server import RestServer
from heliograph.control.running_mirror import RunningMirror
from heliograph.errors import ConfigError, StartError
from tests.control.rest.serving import LOOPBACK, configured, serving


def test_several_addresses_are_served_ipv6_among_them(tmp_path: Path) -> None:
    with serving(tmp_path, listeners=[LOOPBACK, "http://[::1]:0", "http://localhost:0"]) as served:
        first, second, third = served.server.addresses
        assert first.startswith("http://127.0.0.1:")
        assert second.startswith("http://[::1]:")
        assert third.startswith("http://localhost:")
        for address in served.server.addresses:
            assert ":0" not in address[-2:]
            assert httpx.get(f"{address}/healthz", timeout=30).json() == {"status": "alive"}


def test_the_file_says_where(tmp_path: Path) -> None:
    with serving(tmp_path, "listeners = http://127.0.0.1:0\n", listeners=None) as served:
        assert served.request("GET", "/healthz").status_code == 200


def test_a_port_in_use_is_named_with_the_cause(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        second = RestServer(first.mirror, [LOOPBACK, first.address])
        with pytest.raises(StartError) as caught:
            second.start()
        assert str(caught.value) == f"the REST server cannot listen on {first.address}: Address already in use"
        assert first.request("GET", "/healthz").status_code == 200


def test_a_host_that_is_not_this_machine_is_named_with_the_cause(tmp_path: Path) -> None:
    mirror = RunningMirror(configured(tmp_path))
    with pytest.raises(ConfigError, match="is not encrypted"):
        RestServer(mirror, ["http://192.0.2.1:8083"])
    with pytest.raises(ConfigError, match="--rest: nonsense is not an address"):
        RestServer(mirror, ["nonsense"])


def test_a_name_that_claims_to_be_this_machine_must_be_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("0.0.0.0", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: elsewhere)
    server = RestServer(RunningMirror(configured(tmp_path)), ["http://localhost:0"])
    with pytest.raises(StartError, match="localhost is not this machine alone"):
        server.start()


def test_after_the_end_nothing_listens_and_the_thread_is_gone(tmp_path: Path) -> None:
    with serving(tmp_path) as served, httpx.Client(base_url=served.address, timeout=30) as client:
        assert client.get("/healthz").status_code == 200  # a connection that is kept
        served.server.stop()
        assert "rest" not in [thread.name for thread in threading.enumerate()]
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{served.address}/healthz", timeout=30)
    with serving(tmp_path, listeners=[served.address]) as again:
        assert again.request("GET", "/healthz").status_code == 200


def test_a_server_that_was_never_started_can_be_stopped(tmp_path: Path) -> None:
    RestServer(RunningMirror(configured(tmp_path)), [LOOPBACK]).stop()


def test_answers_do_not_wait_for_acknowledgements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Head and body are sent apart: without this option the second would wait until the client has the first."""
    begin, options = Connection.connection_made, list[int]()

    def note(connection: Connection, transport: asyncio.Transport) -> None:
        accepted = transport.get_extra_info("socket")
        options.append(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        begin(connection, transport)

    monkeypatch.setattr(Connection, "connection_made", note)
    with serving(tmp_path, listeners=[LOOPBACK, "http://[::1]:0"]) as served:
        for address in served.server.addresses:
            assert httpx.get(f"{address}/healthz", trust_env=False, timeout=30).status_code == 200
    assert len(options) == 2
    assert all(options)


def test_admin_is_served_with_all_else(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.request("GET", "/admin/loggers").status_code == 200


def test_admin_is_not_served_when_its_addresses_are_empty(tmp_path: Path) -> None:
    with serving(tmp_path, "admin.listeners =\n") as served:
        missing = served.request("GET", "/admin/loggers")
        assert missing.json() == {"error_code": 404, "message": "HTTP 404 Not Found"}
        assert served.request("GET", "/connectors").status_code == 200


def test_admin_with_an_address_of_its_own_is_served_only_there(tmp_path: Path) -> None:
    with serving(tmp_path, "admin.listeners = http://127.0.0.1:0\n") as served:
        main, admin = served.server.addresses
        assert httpx.get(f"{main}/admin/loggers", timeout=30).status_code == 404
        assert httpx.get(f"{main}/connectors", timeout=30).status_code == 200
        assert httpx.get(f"{admin}/admin/loggers", timeout=30).status_code == 200
        assert httpx.get(f"{admin}/connectors", timeout=30).status_code == 404


def test_head_is_get_without_a_body(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        head, get = (served.request(method, "/connectors") for method in ("HEAD", "GET"))
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(get.content))


def test_every_answer_protects_browsers_and_api_answers_are_not_kept(tmp_path: Path) -> None:
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    )
    with serving(tmp_path) as served:
        for path, code in (("/connectors", 200), ("/none", 404), ("/ui/", 200), ("/healthz", 200)):
            answer = served.request("GET", path)
            assert answer.status_code == code
            assert answer.headers["content-security-policy"] == policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "server" not in answer.headers
            assert answer.headers["cache-control"] == ("no-cache" if path == "/ui/" else "no-store")


def test_headers_can_be_asked_for_as_in_connect(tmp_path: Path) -> None:
    text = 'response.http.headers.config = set X-Frame-Options: SAMEORIGIN, "add X-List: a, b", setDate Expires: 0\n'
    with serving(tmp_path, text) as served:
        headers = served.request("GET", "/connectors").headers
        assert (headers["x-frame-options"], headers["x-list"]) == ("SAMEORIGIN", "a, b")
        assert headers["expires"].endswith("GMT")


def test_openapi_describes_every_route_and_no_page_loads_it_from_elsewhere(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        described = served.request("GET", "/api/v1/openapi.json").json()
        assert described["info"]["title"] == "Heliograph"
        assert {"/connectors/{connector}/pause", "/api/v1/flows", "/healthz", "/metrics"} <= set(described["paths"])
        for path in ("/docs", "/redoc", "/openapi.json"):
            assert served.request("GET", path).status_code == 404


def test_it_says_whether_it_lives_and_why_it_is_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.request("GET", "/healthz").status_code == 200
        waiting = served.request("GET", "/readyz")
        assert waiting.status_code == 503
        assert waiting.json() == {"status": "not ready", "reasons": ["a->b is not taken over yet"]}
        flow = served.mirror.flow("a->b")
        assert flow.driver is not None
        flow.driver.in_charge.set()
        assert served.request("GET", "/readyz").json() == {"status": "ready", "reasons": []}
        flow.has_ended = lambda: True
        ended = served.request("GET", "/readyz")
        assert (ended.status_code, ended.json()["reasons"]) == (503, ["a->b has ended"])
