"""Tokens of the client-credentials grant, from an endpoint on this machine."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from heliograph.config.secret import Secret
from heliograph.errors import AuthenticationFailed
from heliograph.kafka.oauth import OAuthGrant, TokenSource, token_source


@dataclass
class Endpoint:
    """What the endpoint was asked, and what it answers."""

    url: str = ""
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    status: int = 200
    answer: object = field(default_factory=lambda: {"access_token": "t1", "expires_in": 100})


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    state = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            state.asked.append((self.headers["Authorization"], parse_qs(body)))
            self.send_response(state.status)
            self.end_headers()
            self.wfile.write(json.dumps(state.answer).encode())

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/token"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def grant(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> OAuthGrant:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return OAuthGrant(endpoint.url, "mirror", Secret("s3:cret/"), scope="kafka read")


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_asks_as_kafka_does(endpoint: Endpoint, grant: OAuthGrant) -> None:
    assert TokenSource(grant).token() == "t1"
    form = {"grant_type": ["client_credentials"], "scope": ["kafka read"]}
    assert endpoint.asked == [(basic("mirror:s3:cret/"), form)]


def test_url_encodes_the_header_if_asked_to(endpoint: Endpoint, grant: OAuthGrant) -> None:
    TokenSource(replace(grant, url_encodes_header=True, scope="")).token()
    assert endpoint.asked == [(basic("mirror:s3%3Acret%2F"), {"grant_type": ["client_credentials"]})]


def test_keeps_a_token_for_the_given_part_of_its_life(endpoint: Endpoint, grant: OAuthGrant) -> None:
    now = [1000.0]
    source = TokenSource(grant, clock=lambda: now[0])
    source.token()
    endpoint.answer = {"access_token": "t2", "expires_in": 100}
    now[0] = 1079.9
    assert source.token() == "t1"
    now[0] = 1080.0
    assert source.token() == "t2"
    assert len(endpoint.asked) == 2


def test_reads_the_life_of_a_token_that_is_a_jwt(endpoint: Endpoint, grant: OAuthGrant) -> None:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1010}).encode()).decode().rstrip("=")
    endpoint.answer = {"access_token": f"head.{claims}.signature"}
    now = [1000.0]
    source = TokenSource(grant, clock=lambda: now[0])
    source.token()
    now[0] = 1007.9
    source.token()
    assert len(endpoint.asked) == 1
    now[0] = 1008.1
    source.token()
    assert len(endpoint.asked) == 2


def test_connections_with_the_same_grant_share_a_source(grant: OAuthGrant) -> None:
    assert token_source(grant) is token_source(replace(grant))
    assert token_source(grant) is not token_source(replace(grant, scope="other"))


def test_a_refusal_tells_the_code_and_no_secret(endpoint: Endpoint, grant: OAuthGrant) -> None:
    endpoint.status, endpoint.answer = 401, {"error": "invalid_client", "hint": "s3:cret/"}
    with pytest.raises(AuthenticationFailed, match="answered 401 invalid_client") as failed:
        TokenSource(grant).token()
    assert "s3:cret/" not in str(failed.value)


@pytest.mark.parametrize("answer", [{}, [], {"access_token": 5}])
def test_an_answer_without_a_token_is_an_error(endpoint: Endpoint, grant: OAuthGrant, answer: object) -> None:
    endpoint.answer = answer
    with pytest.raises(AuthenticationFailed, match="no access_token"):
        TokenSource(grant).token()


def test_an_endpoint_out_of_reach_is_named(grant: OAuthGrant) -> None:
    with pytest.raises(AuthenticationFailed, match=r"127\.0\.0\.1:1/token: cannot be reached"):
        TokenSource(replace(grant, endpoint="http://127.0.0.1:1/token")).token()


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "ftp://127.0.0.1/x"])
def test_only_http_endpoints_are_asked(grant: OAuthGrant, url: str) -> None:
    with pytest.raises(AuthenticationFailed, match="neither http nor https"):
        TokenSource(replace(grant, endpoint=url)).token()
