"""Whatever goes wrong, the answer has Kafka Connect's body, the right code, and nothing of our insides."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import APIRouter, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from heliograph.config.problem import Problem, Severity
from heliograph.control.rest import app
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.roles import Role, needs
from heliograph.errors import BrokerUnavailable, ConfigError, HeliographError, MalformedRecord
from tests.control.rest.serving import Served, serving

CANARY = "canary-2b77"
ERRORS = {
    "rest": RestError(409, "it is there already", {"X-More": "yes"}),
    "config": ConfigError([Problem(Severity.ERROR, "is wrong", "", "", None, "topics")]),
    "away": BrokerUnavailable("no broker of b answers"),
    "malformed": MalformedRecord("a checkpoint is cut off"),
    "general": HeliographError("lanes did not end"),
    "http": HTTPException(418, "short and stout"),
    "unexpected": RuntimeError(CANARY),
}


class Body(BaseModel):
    """What a route takes."""

    count: int
    password: str = ""


def broken_routes() -> APIRouter:
    """One route for each way to fail."""
    router = APIRouter(prefix="/broken", dependencies=[needs(Role.PUBLIC)])

    @router.get("/{how}")
    async def fail(how: str) -> None:
        raise ERRORS[how]

    @router.get("/thread/{how}")
    def fail_in_a_thread(how: str) -> None:
        raise ERRORS[how]

    @router.put("/body")
    async def take(body: Body) -> int:
        return body.count

    @router.get("/number/{number}")
    async def number(number: int) -> int:
        return number

    @router.get("/late/answer")
    async def late() -> StreamingResponse:
        async def parts() -> AsyncIterator[bytes]:
            yield b"begun"
            raise RuntimeError(CANARY)

        return StreamingResponse(parts())

    return router


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with routes that fail."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "_ROUTERS", (broken_routes(), *app._ROUTERS))
        with serving(tmp_path_factory.mktemp("errors")) as running:
            yield running


@pytest.mark.parametrize("prefix", ["/broken/", "/broken/thread/"])
@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("rest", 409, "it is there already"),
        ("config", 400, "error: topics: is wrong"),
        ("away", 503, "no broker of b answers"),
        ("malformed", 500, "a checkpoint is cut off"),
        ("general", 500, "lanes did not end"),
        ("http", 418, "short and stout"),
    ],
)
def test_errors_are_told_with_their_code(served: Served, prefix: str, how: str, code: int, message: str) -> None:
    answer = served.request("GET", prefix + how)
    assert answer.status_code == code
    assert answer.json() == {"error_code": code, "message": message}
    assert answer.headers["content-security-policy"]
    if how == "rest":
        assert answer.headers["X-More"] == "yes"


@pytest.mark.parametrize("prefix", ["/broken/", "/broken/thread/"])
def test_what_nobody_expected_is_logged_and_told_in_general_words(
    served: Served, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = served.request("GET", f"{prefix}unexpected")
    assert answer.status_code == 500
    assert answer.json() == {"error_code": 500, "message": "something unexpected went wrong; the log tells what"}
    records = [record for record in caplog.records if record.exc_info and CANARY in str(record.exc_info[1])]
    assert [record.name for record in records] == ["heliograph.control.rest.error_answers"]


def test_an_answer_that_breaks_off_is_logged_and_does_not_end_the_server(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(httpx.RemoteProtocolError):
        served.request("GET", "/broken/late/answer")
    assert "a request failed in a way that nobody expected" in caplog.text
    assert served.request("GET", "/healthz").status_code == 200


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"{", "body"),
        (b'{"count": "canary-2b77"}', "body.count"),
        (b"[]", "body"),
        (b'{"password": "x"}', "body.count"),
    ],
)
def test_a_wrong_body_is_told_without_repeating_it(served: Served, body: bytes, told: str) -> None:
    answer = served.request("PUT", "/broken/body", headers={"Content-Type": "application/json"}, content=body)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
    assert answer.json()["message"].startswith(told)
    assert CANARY not in answer.text


def test_a_wrong_parameter_is_told(served: Served) -> None:
    answer = served.request("GET", "/broken/number/x")
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
    assert answer.json()["message"].startswith("path.number: ")


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("GET", "/none", 404, "HTTP 404 Not Found"),
        ("PUT", "/connectors", 405, "HTTP 405 Method Not Allowed"),
        ("BREW", "/healthz", 405, "HTTP 405 Method Not Allowed"),
    ],
)
def test_what_is_not_there_is_told_as_connect_does(
    served: Served, method: str, path: str, code: int, message: str
) -> None:
    answer = served.request(method, path)
    assert answer.status_code == code
    assert answer.json() == {"error_code": code, "message": message}
