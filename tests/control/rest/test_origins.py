"""Pages of others, and names that lie."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heliograph.config.listener import Listener
from heliograph.config.rest_access import RestAccess
from heliograph.control.rest.errors import RestError
from heliograph.control.rest.origins import Origins
from tests.control.rest.serving import Served, serving

PAUSE = "/connectors/nobody/pause"  # 404 for those who get through
EVIL = "https://evil.example"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server without callers, so that only origins protect it."""
    with serving(tmp_path_factory.mktemp("origins")) as running:
        yield running


@pytest.fixture(scope="module")
def open_to(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that pages of a friend may call, and that has a name of its own."""
    text = """
access.control.allow.origin = https://*.friend.example, http://other.example:81
access.control.allow.methods = GET, put
rest.advertised.host.name = mirror.example
"""
    with serving(tmp_path_factory.mktemp("friends"), text) as running:
        yield running


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:9", "LOCALHOST:80"])
def test_this_machine_may_be_called_by_its_names(served: Served, host: str) -> None:
    assert served.request("GET", "/connectors", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "10.0.0.1", "[", "a:b:c"]
)
@pytest.mark.parametrize("path", ["/connectors", "/healthz", "/ui/"])
def test_a_name_that_was_bent_to_this_machine_is_refused(served: Served, host: str, path: str) -> None:
    answer = served.request("GET", path, headers={"Host": host})
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)


def test_a_name_of_its_own_is_allowed(open_to: Served) -> None:
    assert open_to.request("GET", "/connectors", headers={"Host": "Mirror.example"}).status_code == 200
    assert open_to.request("GET", "/connectors", headers={"Host": "other.example"}).status_code == 403
    behind_proxy = {"Host": "127.0.0.1:8083", "Origin": "https://mirror.example"}
    assert open_to.request("PUT", PAUSE, headers=behind_proxy).status_code == 404


def test_on_other_addresses_the_name_is_left_to_tls() -> None:
    Origins(RestAccess(())).check_host("any.example", Listener("https", "", 8083))


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:1", "http://127.0.0.1", "http://[", "x"])
@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
def test_pages_of_others_change_nothing(served: Served, origin: str, method: str) -> None:
    answer = served.request(method, PAUSE, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_page_itself_and_programs_may_change_things(served: Served) -> None:
    assert served.request("PUT", PAUSE, headers={"Origin": served.address}).status_code == 404
    assert served.request("PUT", PAUSE).status_code == 404


def test_pages_of_others_cannot_read_answers(served: Served) -> None:
    answer = served.request("GET", "/connectors", headers={"Origin": EVIL})
    assert answer.status_code == 200  # the browser keeps it from the page
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_port_that_goes_without_saying_is_the_same_port() -> None:
    origins = Origins(RestAccess(()))
    origins.check_origin("PUT", "http://localhost", "localhost:80")
    origins.check_origin("PUT", "https://localhost:443", "localhost")
    with pytest.raises(RestError):
        origins.check_origin("PUT", "https://localhost", "localhost:80")


@pytest.mark.parametrize("origin", ["https://a.friend.example", "http://other.example:81"])
def test_pages_of_friends_may_read_and_do_what_was_allowed(open_to: Served, origin: str) -> None:
    answer = open_to.request("GET", "/connectors", headers={"Origin": origin})
    assert answer.headers["access-control-allow-origin"] == origin
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-credentials" not in answer.headers
    assert open_to.request("PUT", PAUSE, headers={"Origin": origin}).status_code == 404
    assert open_to.request("DELETE", "/connectors/nobody", headers={"Origin": origin}).status_code == 403


@pytest.mark.parametrize("origin", ["https://friend.example.evil.example", "http://other.example", EVIL])
def test_pages_that_only_look_like_friends_are_none(open_to: Served, origin: str) -> None:
    answer = open_to.request("GET", "/connectors", headers={"Origin": origin})
    assert "access-control-allow-origin" not in answer.headers
    assert open_to.request("PUT", PAUSE, headers={"Origin": origin}).status_code == 403


def test_vary_of_a_route_is_kept(open_to: Served) -> None:
    vary = open_to.request("GET", "/metrics").headers["vary"]
    assert {"Accept-Encoding", "Origin"} == {name.strip() for name in vary.split(",")}


def test_browsers_that_ask_first_are_told(open_to: Served) -> None:
    headers = {"Origin": "https://a.friend.example", "Access-Control-Request-Method": "PUT"}
    answer = open_to.request("OPTIONS", PAUSE, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "https://a.friend.example"
    assert answer.headers["access-control-allow-methods"] == "GET,PUT"
    assert "Authorization" in answer.headers["access-control-allow-headers"]
    refused = open_to.request("OPTIONS", PAUSE, headers={**headers, "Origin": EVIL})
    assert refused.status_code == 405
    assert "access-control-allow-methods" not in refused.headers
