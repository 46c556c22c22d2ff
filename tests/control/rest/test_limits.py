"""How much, how long and how often."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.control.rest import limits
from heliograph.control.rest.limits import Attempts
from tests.control.rest.serving import TOKENS, Served, serving
from tests.waiting import wait_until

LOGGER = "/admin/loggers/nowhere"  # 404 if the body was read: it has no such level
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server without callers."""
    with serving(tmp_path) as running:
        yield running


def connected(served: Served) -> socket.socket:
    """A bare connection."""
    connection = socket.create_connection(("127.0.0.1", served.port))
    connection.settimeout(20)
    return connection


def answer_to(served: Served, request: bytes) -> bytes:
    """All that comes back until the server closes."""
    with connected(served) as connection:
        connection.sendall(request)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def is_closed(connection: socket.socket) -> bool:
    """Wait until the server has closed it without a word."""
    try:
        return connection.recv(1000) == b""
    except ConnectionResetError:
        return True


def test_a_long_body_is_refused_whether_its_length_is_told_or_not(served: Served) -> None:
    body = json.dumps({"level": "y" * limits.BODY_BYTES}).encode()
    told = served.request("PUT", LOGGER, headers=JSON, content=body)
    assert (told.status_code, told.json()["error_code"]) == (413, 413)
    untold = served.request("PUT", LOGGER, headers=JSON, content=iter([body[:1000], body[1000:]]))
    assert untold.status_code == 413
    assert served.request("GET", "/healthz").status_code == 200


def test_a_body_just_within_the_limit_is_read(served: Served) -> None:
    frame = len(json.dumps({"level": ""}))
    body = json.dumps({"level": "y" * (limits.BODY_BYTES - frame)}).encode()
    assert len(body) == limits.BODY_BYTES
    assert served.request("PUT", LOGGER, headers=JSON, content=body).status_code == 404
    assert served.request("PUT", LOGGER, headers=JSON, content=iter([body[:9], body[9:]])).status_code == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
def test_a_body_that_is_not_said_to_be_json_is_refused(served: Served, kind: str) -> None:
    for path in (LOGGER, "/connectors/nobody/pause"):  # also where no body is wanted
        answer = served.request("PUT", path, headers={"Content-Type": kind}, content=b"{}")
        assert (answer.status_code, answer.json()["error_code"]) == (415, 415)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
def test_a_body_that_is_json_is_read(served: Served, kind: str) -> None:
    assert (
        served.request("PUT", LOGGER, headers={"Content-Type": kind}, content=b'{"level": "none"}').status_code == 404
    )


def test_a_change_without_a_body_needs_no_content_type(served: Served) -> None:
    assert served.request("PUT", "/connectors/nobody/pause").status_code == 404
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # what curl says with -d ''
    assert served.request("PUT", "/connectors/nobody/pause", headers=form, content=b"").status_code == 404


def test_nobody_makes_the_server_read_a_body_without_a_name(tmp_path: Path) -> None:
    with serving(tmp_path, TOKENS) as served:
        request = f"PUT {LOGGER} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nConnection: close\r\n\r\n"
        assert answer_to(served, request.encode()).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("value", [b"x" * limits.HEADER_BYTES, b"x" * 10 * limits.HEADER_BYTES])
def test_long_headers_are_refused(served: Served, value: bytes) -> None:
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n" % value
    with connected(served) as connection:
        connection.sendall(request)
        assert connection.recv(65536)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431")


def test_many_headers_and_long_addresses_are_refused(served: Served) -> None:
    many = {f"X-{number}": "x" for number in range(limits.HEADERS)}
    assert served.request("GET", "/healthz", headers=many).status_code == 431
    assert served.request("GET", "/" + "x" * limits.TARGET_BYTES).status_code == 414
    assert served.request("GET", "/healthz", params={"x": "y" * limits.TARGET_BYTES}).status_code == 414


def test_what_is_no_http_gets_connects_body(served: Served) -> None:
    head, _, body = answer_to(served, b"nonsense\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body) == {"error_code": 400, "message": "Invalid HTTP request received."}


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: local",
        b"PUT /connectors/nobody/pause HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    ],
)
def test_a_request_that_does_not_arrive_is_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(limits, "ARRIVAL_SECONDS", 0.5)
    with serving(tmp_path) as served, connected(served) as connection:
        began = time.monotonic()
        connection.sendall(beginning)
        assert is_closed(connection)
        assert time.monotonic() - began < 10


def test_a_request_that_drips_in_is_broken_off_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARRIVAL_SECONDS", 0.5)
    with serving(tmp_path) as served, connected(served) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")

        def is_broken() -> bool:
            try:
                connection.sendall(b"X: y\r\n")
            except OSError:
                return True
            return False

        wait_until(is_broken, "the server to lose its patience", seconds=10)


def test_a_client_that_takes_no_answer_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "STUCK_SECONDS", 0.5)
    with serving(tmp_path) as served, connected(served) as connection:
        request = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"

        def is_broken() -> bool:
            try:
                connection.sendall(request)
            except TimeoutError:
                return False
            except OSError:
                return True
            return False

        connection.settimeout(0.2)
        wait_until(is_broken, "the server to lose its patience", seconds=30, interval=0)


def test_connections_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 2)
    with serving(tmp_path) as served:
        request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with connected(served) as first, connected(served) as second:
            for connection in (first, second):
                connection.sendall(request)
                assert connection.recv(1000).startswith(b"HTTP/1.1 200")
            with connected(served) as third:
                assert is_closed(third)

        def has_room() -> bool:
            with connected(served) as fourth:
                fourth.sendall(request)
                return fourth.recv(1000).startswith(b"HTTP/1.1 200")

        wait_until(has_room, "room for a new connection")


def test_attempts_are_counted_for_each_client_and_forgotten_in_time() -> None:
    attempts = Attempts(allowed=2, seconds=0.2)
    assert [attempts.add("a"), attempts.add("a"), attempts.add("b")] == [1, 2, 1]
    assert 0 < attempts.seconds_to_wait("a") <= 0.2
    assert attempts.seconds_to_wait("b") == attempts.seconds_to_wait("c") == 0
    wait_until(lambda: attempts.seconds_to_wait("a") == 0, "the window to pass", interval=0.01)
    assert attempts.add("a") == 1


def test_attempts_of_very_many_clients_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_KEPT_CLIENTS", 3)
    attempts = Attempts(allowed=1)
    for client in "abcde":
        attempts.add(client)
    assert [attempts.seconds_to_wait(client) > 0 for client in "abcde"] == [False, False, True, True, True]
